/** HTTP over pooled connections, with timeouts, back-pressure and signals. Every failure becomes a StorageError. */
import type { Dispatcher } from "undici";
import { describePlace, type ErrorPlace, isStorageError, StorageError } from "../errors.ts";
import { TooLongError, textOf } from "./bounds.ts";
import { describeCertificateError } from "./certificates.ts";
import type { DirectHttp } from "./direct-http.ts";
import { IncomingBody } from "./incoming-body.ts";
import type { HttpAnswer, HttpHeaders, HttpRequest, HttpSettings } from "./messages.ts";
import { createRoutes } from "./routes.ts";

/** The body of an answer while it arrives, over a direct connection or from undici. */
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

/** An answer with its body. Errors while the body is read name the object or bucket that was requested. */
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

/** Errors that a retry cannot fix: certificates, host names, closed clients. */
const lasting =
  /^(ENOTFOUND|ERR_CLOSED|UND_ERR_DESTROYED|CERT_|ERR_TLS|ERR_SSL|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|EPROTO|UND_ERR_INVALID_ARG)/;

/**
 * Converts any error to a storage error, or returns the signal's reason if the signal was aborted. `said` replaces the
 * error's own message, which stays in the cause.
 */
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

/**
 * Parses a Retry-After header, which contains seconds or a date. Returns the time to wait in milliseconds, or undefined
 * if the header is absent or invalid.
 */
export function parseRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const seconds = retryAfterPattern.exec(value)?.[1];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
