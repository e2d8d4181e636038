/** Sends WebDAV calls: adds credentials, retries if that is useful, and throws storage errors. */
import type { Readable } from "node:stream";
import type { Location } from "../../address/uri.ts";
import { encodeKey } from "../../address/url-encoding.ts";
import type { CallOptions } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import type { HttpClient } from "../../http/client.ts";
import type { HttpAnswer, HttpRequest } from "../../http/messages.ts";
import { toStorageError } from "./errors.ts";

export interface DavRequest extends CallOptions {
  /** HTTP method, such as PROPFIND. undici sends any method, although its types list only the usual ones. */
  readonly method: string;
  /** Key of the file or folder; for a folder, it ends with a slash. */
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** A stream to send instead of `body`. A request with a stream is not retried. */
  readonly stream?: Readable;
}

export interface DavSettings {
  readonly location: Location;
  readonly http: HttpClient;
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retry: RetryPolicy;
}

export class DavClient {
  readonly #settings: DavSettings;
  readonly origin: string;
  /** Whether the server respects conditions on writes; undefined until the first conditional write. */
  heedsConditions: boolean | undefined;
  /** Folders that are known to exist. They are not checked again. */
  readonly folders = new Set<string>();

  constructor(settings: DavSettings) {
    this.#settings = settings;
    const isSecure = settings.location.scheme.endsWith("s");
    this.origin = `${isSecure ? "https" : "http"}://${settings.location.bucket}`;
  }

  place(key: string) {
    return { scheme: this.#settings.location.scheme, bucket: this.#settings.location.bucket, key };
  }

  pathOf(key: string): string {
    return `/${encodeKey(key)}`;
  }

  send(request: DavRequest): Promise<HttpAnswer> {
    if (request.stream) return this.#sendOnce(request);
    return retry(this.#settings.retry, request.signal, () => this.#sendOnce(request));
  }

  /** Sends a request and discards the body of the answer. */
  async sendAway(request: DavRequest): Promise<void> {
    await (await this.send(request)).discard();
  }

  close(): Promise<void> {
    return this.#settings.http.close();
  }

  async #sendOnce({ method, key, headers, body, stream, signal }: DavRequest): Promise<HttpAnswer> {
    const answer = await this.#settings.http.send(
      {
        method: method as HttpRequest["method"],
        origin: this.origin,
        path: this.pathOf(key),
        headers: { "accept-encoding": "identity", ...this.#settings.headers, ...headers },
        body: stream ?? body,
        signal,
      },
      this.place(key),
    );
    if (answer.status < 300) return answer;
    await answer.discard();
    throw toStorageError(answer, this.place(key));
  }
}
