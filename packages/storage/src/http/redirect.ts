/** Follows redirects: decides which targets and which headers are allowed, since the server may not be trustworthy. */
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

const redirects = [301, 302, 303, 307, 308];

/** Returns the target of a redirect, and discards the body. Returns undefined if the answer is not a redirect. */
export async function redirectOf(answer: HttpAnswer, from: URL, place: ErrorPlace): Promise<URL | undefined> {
  const target = answer.header("location");
  if (!redirects.includes(answer.status) || !target) return undefined;
  await answer.discard();
  return givenAddress(target, place, from);
}

/**
 * Parses an address that a server sent. Throws if the address is not an http or https URL, but for example a `file:`
 * URL.
 */
export function givenAddress(text: string, place: ErrorPlace, base?: URL): URL {
  const url = URL.parse(text, base);
  if (url && /^https?:$/.test(url.protocol)) return url;
  const told = JSON.stringify(text.slice(0, mostTold));
  const message = `${describePlace(place)}: the server sent the address ${told}, which is not an http or https URL`;
  throw new StorageError("failed", message, place);
}

/** Maximum number of characters of an invalid address that a message quotes. */
const mostTold = 200;

const harmless = /^(accept(-.*)?|user-agent|range)$/i;

/** Returns only those configured headers that may be sent to another server. All other headers may contain secrets. */
export function harmlessHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.test(name)));
}
