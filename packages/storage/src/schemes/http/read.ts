/** Reads the metadata and content of a resource on a web server. */
import type { Location } from "../../address/uri.ts";
import type { CallOptions, Content, Entry, ReadCall } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { HttpClient } from "../../http/client.ts";
import { entryFromHeaders, sizeFromHeaders } from "../../http/entry-from-headers.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import { harmlessHeaders, redirectOf } from "../../http/redirect.ts";
import { toStorageError } from "./errors.ts";

export interface WebServer {
  readonly http: HttpClient;
  readonly location: Location;
  readonly headers: Readonly<Record<string, string>>;
  readonly retry: RetryPolicy;
}

interface WebRequest extends CallOptions {
  readonly method: "GET" | "HEAD";
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function statResource(server: WebServer, key: string, call: CallOptions): Promise<Entry> {
  const answer = await send(server, { method: "HEAD", key, signal: call.signal });
  await answer.discard();
  return toEntry(key, answer);
}

export async function readResource(server: WebServer, key: string, call: ReadCall): Promise<Content> {
  const headers: Record<string, string> = { ...rangeHeader(call), "accept-encoding": "identity" };
  // If-Match never matches a weak ETag, so for a weak one, only the ETag of the answer is compared.
  if (call.ifMatch !== undefined && !call.ifMatch.startsWith("W/")) headers["if-match"] = `"${call.ifMatch}"`;
  try {
    const answer = await send(server, { method: "GET", key, headers, signal: call.signal });
    return contentOf(answer, toEntry(key, answer), call);
  } catch (error) {
    if (!isStorageError(error) || error.status !== 416) throw error;
    return emptyContent(await statResource(server, key, call), call);
  }
}

const toEntry = (key: string, answer: HttpAnswer): Entry => ({
  ...entryFromHeaders(key, answer),
  size: sizeFromHeaders(key, answer) ?? Number.POSITIVE_INFINITY,
});

const mostRedirects = 10;

function send(server: WebServer, { method, key, headers, signal }: WebRequest): Promise<HttpAnswer> {
  const place = { scheme: server.location.scheme, bucket: server.location.bucket, key };
  return retry(server.retry, signal, async () => {
    let url = urlOf(server.location, key);
    for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
      const sent = { ...headersFor(server, url), ...headers, host: url.host };
      const request = { method, origin: url.origin, path: url.pathname + url.search, headers: sent, signal };
      const answer = await server.http.send(request, place);
      if (answer.status < 300) return answer;
      const next = await redirectOf(answer, url, place);
      if (!next) {
        await answer.discard();
        throw toStorageError(answer, place);
      }
      url = next;
    }
    throw new StorageError(
      "failed",
      `${place.bucket}/${key}: the request was redirected more than ${mostRedirects} times`,
      place,
    );
  });
}

/**
 * Returns the configured headers for a request to this URL. If the URL has another origin than the opened URI, leaves
 * out headers that may contain a secret.
 */
const headersFor = ({ headers, location }: WebServer, { origin }: URL) =>
  origin === location.bucket ? headers : harmlessHeaders(headers);

/**
 * Returns the URL of a key. The opened URI, with its query, is used unchanged. Only the part of the key below the
 * opened URI is percent-encoded.
 */
function urlOf({ uri, path }: Location, key: string): URL {
  const url = new URL(uri);
  const below = key.slice(path.length);
  url.pathname = `/${path}${below.split("/").map(encodeURIComponent).join("/")}`;
  return url;
}
