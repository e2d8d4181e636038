/** HTTP over pooled connections, with timeouts, back-pressure and signals; what goes wrong is a StorageError. */
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { describePlace, type ErrorPlace, isStorageError, StorageError } from "../errors.ts";
import { TooLongError, textOf } from "./bounds.ts";
import { describeCertificateError, type Identity } from "./certificates.ts";
import type { DirectHttp } from "./direct-http.ts";
import { type HttpHeaders, IncomingBody } from "./incoming-body.ts";
import type { ProxyFor } from "./proxies.ts";
import { createRoutes } from "./routes.ts";

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

/** The body as it comes, over one kind of connection or the other. */
type Body = AsyncIterableIterator<Uint8Array> &
  Pick<HttpAnswer, "bytes" | "discard"> & { fill?(buffer: Uint8Array): Promise<number> };

type AnswerStart = Pick<HttpAnswer, "status" | "headers">;

export interface HttpClient {
  send(request: HttpRequest, place: ErrorPlace): Promise<HttpAnswer>;
  close(): Promise<void>;
}

export function createHttpClient(settings: HttpSettings): HttpClient {
  const routes = createRoutes(settings);
  const { headers } = settings;
  return {
    async send(given, place) {
      const request = headers === undefined ? given : { ...given, headers: { ...headers, ...given.headers } };
      try {
        const { agent, direct } = routes.to(request.origin);
        const answer = request.isDirect && direct && (await sendDirectly(direct, request, place));
        return answer || (await send(agent, request, place));
      } catch (error) {
        const said = describeCertificateError(codeOf(error), new URL(request.origin).host, settings.verifiedBy);
        throw toStorageError(error, request.signal, place, said);
      }
    },
    close: () => routes.close(),
  };
}

async function sendDirectly(
  direct: DirectHttp,
  request: HttpRequest,
  place: ErrorPlace,
): Promise<HttpAnswer | undefined> {
  const answer = await direct.send(request);
  return answer && new Answer(answer.head, answer.body, request.signal, place);
}

function send(agent: Dispatcher, request: HttpRequest, place: ErrorPlace): Promise<HttpAnswer> {
  const { method, origin, path, headers, body: content = null, signal } = request;
  return new Promise((resolve, reject) => {
    const body = new IncomingBody(
      (status, headers) => resolve(new Answer({ status, headers }, body, signal, place)),
      (failure) => {
        signal?.removeEventListener("abort", stop);
        if (failure) reject(failure.error);
      },
    );
    const stop = () => body.abort(signal?.reason);
    if (signal?.aborted) return stop();
    signal?.addEventListener("abort", stop, { once: true });
    agent.dispatch({ method, origin, path, headers, body: content }, body);
  });
}

/** An answer and its body, whose errors tell what was asked for. */
class Answer implements HttpAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly #body: Body;
  readonly #signal: AbortSignal | undefined;
  readonly #place: ErrorPlace;

  constructor({ status, headers }: AnswerStart, body: Body, signal: AbortSignal | undefined, place: ErrorPlace) {
    this.status = status;
    this.headers = headers;
    this.#body = body;
    this.#signal = signal;
    this.#place = place;
  }

  header(name: string): string | undefined {
    const value = this.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  get body(): AsyncIterable<Uint8Array> {
    return pieces(this.#body, this.#signal, this.#place);
  }

  get fill(): HttpAnswer["fill"] {
    const fill = this.#body.fill?.bind(this.#body);
    return fill && ((buffer) => this.#named(fill(buffer)));
  }

  bytes(most?: number): Promise<Uint8Array> {
    return this.#named(this.#body.bytes(most));
  }

  text(): Promise<string> {
    return textOf(this);
  }

  discard(): Promise<void> {
    return this.#named(this.#body.discard());
  }

  close(): void {
    this.#body.return?.();
  }

  async #named<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      throw toStorageError(error, this.#signal, this.#place);
    }
  }
}

async function* pieces(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  place: ErrorPlace,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toStorageError(error, signal, place);
  }
}

/** Certificates, names and what is closed do not get better by trying again. */
const lasting =
  /^(ENOTFOUND|ERR_CLOSED|UND_ERR_DESTROYED|CERT_|ERR_TLS|ERR_SSL|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|EPROTO|UND_ERR_INVALID_ARG)/;

/** `said` goes before the error's own words, which stay with the cause. */
function toStorageError(error: unknown, signal: AbortSignal | undefined, place: ErrorPlace, said?: string): unknown {
  if (signal?.aborted) return signal.reason;
  if (isStorageError(error)) return error;
  if (error instanceof TooLongError) return error.named(place);
  const code = codeOf(error);
  const message = said ?? ((error as Error).message || code);
  const root = describePlace({ ...place, key: "" });
  return new StorageError("network", `${root}: ${message}`, { ...place, retryable: !lasting.test(code), cause: error });
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | undefined)?.code ?? "";

const retryAfterPattern = /^\s*(\d+)\s*$/;

/** Milliseconds that a Retry-After header asks for: it holds seconds, or a date. */
export function parseRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const seconds = retryAfterPattern.exec(value)?.[1];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
