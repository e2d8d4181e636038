/** State of a screen that is kept in the URL, so that it can be linked, and back and forward work. */
import { useSearchParams } from "wouter";

/** Returns the value of a parameter of the URL, and a function that changes it. An empty value removes it. */
export function useUrlState(name: string, fallback = ""): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (value: string) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (value === fallback) after.delete(name);
      else after.set(name, value);
      return after;
    });
  return [params.get(name) ?? fallback, set];
}
