/** Requests and answers, and the settings of whoever sends them. */
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Identity } from "./certificates.ts";
import type { ProxyFor } from "./proxies.ts";

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpSettings {
  /** Connections to one host. */
  readonly connections: number;
  /** Seconds to wait for a connection. */
  readonly connectTimeout: number;
  /** Seconds to wait for an answer, and between its pieces. */
  readonly readTimeout: number;
  /** False: any certificate is trusted. */
  readonly verify?: boolean;
  /** Certificates to trust, as text. */
  readonly authorities?: string | undefined;
  /** The parameter that says both, where there is one: for messages. */
  readonly verifiedBy?: string;
  /** The certificate that is shown to servers. */
  readonly identity?: Identity | undefined;
  /** Whether idle connections are kept up by probes of TCP. */
  readonly keepsAlive?: boolean | undefined;
  /** Seconds that an idle connection is kept; 0: it is closed after one request. */
  readonly idleTimeout?: number | undefined;
  /** Of every request, below its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly proxyFor?: ProxyFor | undefined;
  /** For proxies that speak TLS themselves. */
  readonly proxyTls?: { readonly authorities: string | undefined; readonly identity: Identity | undefined };
  /** What a proxy is told, instead of the name and password of its URL. */
  readonly proxyAuthorization?: string | undefined;
}

export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly origin: string;
  /** Encoded, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream needs its length in the headers, and a new one for every attempt. */
  readonly body?: Uint8Array | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Read on a connection that puts the body straight into the reader's buffers: for content, without a body of its own. */
  readonly isDirect?: boolean | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** Every header, in lower case. */
  readonly headers: HttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body; an error where it has more bytes than `most`. */
  bytes(most?: number): Promise<Uint8Array>;
  /** Of answers that tell of files, and of errors: neither may be of any length. */
  text(): Promise<string>;
  /** Reads the body away, so that the connection can be used again; a long one is given up. */
  discard(): Promise<void>;
  /** Puts the next bytes into a buffer: fewer than it holds when the body has ended, or broke off, as the next call says. */
  fill?: ((buffer: Uint8Array) => Promise<number>) | undefined;
  /** Gives up what has not been read. */
  close?(): void;
}
