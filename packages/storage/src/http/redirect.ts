/** Where a server sends us on to, and what goes along: both are the word of somebody who may not be trusted. */
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

const redirects = [301, 302, 303, 307, 308];

/** Nothing where the answer is no redirect; the body of one that is has been read away. */
export async function redirectOf(answer: HttpAnswer, from: URL, place: ErrorPlace): Promise<URL | undefined> {
  const target = answer.header("location");
  if (!redirects.includes(answer.status) || !target) return undefined;
  await answer.discard();
  return givenAddress(target, place, from);
}

/** An address that a server gave: anything but http and https would be read by nobody, or from this machine. */
export function givenAddress(text: string, place: ErrorPlace, base?: URL): URL {
  const url = URL.parse(text, base);
  if (url && /^https?:$/.test(url.protocol)) return url;
  const told = JSON.stringify(text.slice(0, mostTold));
  const message = `${describePlace(place)}: the server sends us to ${told}, which is no http or https address`;
  throw new StorageError("failed", message, place);
}

/** Letters of a wrong address that a message repeats. */
const mostTold = 200;

const harmless = /^(accept(-.*)?|user-agent|range)$/i;

/** Of the headers that somebody configured, those that a server may have for which they were not meant: any other may be a secret. */
export function harmlessHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.test(name)));
}
