/** HTTP requests, answers, and the settings of a client. */
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Identity } from "./certificates.ts";
import type { ProxyFor } from "./proxies.ts";

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpSettings {
  /** Maximum number of connections to one host. */
  readonly connections: number;
  /** Connect timeout in seconds. */
  readonly connectTimeout: number;
  /** Maximum seconds to wait for the start of an answer and for each next piece of it. */
  readonly readTimeout: number;
  /** If false, any certificate is trusted. */
  readonly verify?: boolean;
  /** Certificates to trust, as text. */
  readonly authorities?: string | undefined;
  /** Name of the parameter that sets `verify` and `authorities`, for error messages. */
  readonly verifiedBy?: string;
  /** The client certificate. */
  readonly identity?: Identity | undefined;
  /** Whether TCP keep-alive probes run on idle connections. */
  readonly keepsAlive?: boolean | undefined;
  /** Seconds that an idle connection is kept; 0 closes it after one request. */
  readonly idleTimeout?: number | undefined;
  /** Headers of every request; a request's own headers override them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly proxyFor?: ProxyFor | undefined;
  /** TLS settings for proxies that use TLS themselves. */
  readonly proxyTls?: { readonly authorities: string | undefined; readonly identity: Identity | undefined };
  /** Proxy-Authorization header, instead of the user and password in the proxy's URL. */
  readonly proxyAuthorization?: string | undefined;
}

export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly origin: string;
  /** Encoded path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** If the body is a stream, the headers must state its length, and every attempt needs a new stream. */
  readonly body?: Uint8Array | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Uses a direct connection, which reads content straight into the reader's buffers. Only for requests without a body.
   */
  readonly isDirect?: boolean | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** All headers, with names in lower case. */
  readonly headers: HttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads the whole body; throws if it has more bytes than `most`. */
  bytes(most?: number): Promise<Uint8Array>;
  /** Reads a listing or an error as text, with a size limit. */
  text(): Promise<string>;
  /** Reads and drops the body, so that the connection can be reused. If the body is long, closes the connection. */
  discard(): Promise<void>;
  /**
   * Fills a buffer with the next bytes and returns their number. The number is less than the size of the buffer only if
   * the body has ended or broken off. If the body broke off, the next call throws the error.
   */
  fill?: ((buffer: Uint8Array) => Promise<number>) | undefined;
  /** Abandons the unread rest of the body. */
  close?(): void;
}
