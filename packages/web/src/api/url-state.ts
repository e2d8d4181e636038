/** State of a screen that is kept in the URL, so that it can be linked, and back and forward work. */
import { useLocation } from "wouter";
import { usePathname, useSearch } from "wouter/use-browser-location";
import { prefix } from "./base.ts";

interface ChangeOptions {
  /** Replaces the entry of the browser's history, for changes at each keystroke. */
  readonly replace?: boolean;
}

/** Returns the value of a parameter of the URL, and a function that changes it. An empty value removes it. */
export function useUrlState(name: string, fallback = ""): [string, (value: string, options?: ChangeOptions) => void] {
  const change = useUrlChange();
  // The raw text: the hook of the router decodes it once too often for values with a percent sign.
  const value = new URLSearchParams(useSearch()).get(name) ?? fallback;
  return [value, (next, options) => change({ [name]: next === fallback ? "" : next }, options)];
}

/** Returns a function that changes several parameters of the URL at once. Empty values remove them. */
export function useUrlChange() {
  const [, go] = useLocation();
  return (changes: Readonly<Record<string, string>>, options?: ChangeOptions) =>
    go(changedUrl(window.location, changes).slice(prefix.length), options);
}

/** The path and query of a URL with these parameters. */
function changedUrl(
  { pathname, search }: { pathname: string; search: string },
  changes: Readonly<Record<string, string>>,
): string {
  const params = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString();
  return text === "" ? pathname : `${pathname}?${text}`;
}

/** Returns the last part of the path. The parameters of the router keep `@` and other characters encoded. */
export function useLastPart(): string {
  const last = usePathname().split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
