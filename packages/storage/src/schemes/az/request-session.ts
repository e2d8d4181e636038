/**
 * `request_session`: sends requests through an HTTP client of the Azure SDK that the caller supplies, instead of
 * through connections of this library.
 */
import { randomUUID } from "node:crypto";
import type { ErrorPlace } from "../../errors.ts";
import { StorageError } from "../../errors.ts";
import { mostDiscarded, startOf, TooLongError, textOf } from "../../http/bounds.ts";
import type { HttpClient } from "../../http/client.ts";
import type { HttpAnswer, HttpRequest } from "../../http/messages.ts";

interface SessionAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | undefined };
  readonly bodyAsText?: string | null;
  readonly readableStreamBody?: AsyncIterable<Uint8Array>;
}

interface Session {
  sendRequest(request: object): Promise<SessionAnswer>;
}

export function createSessionClient(session: object): HttpClient {
  return {
    async send(request, place) {
      try {
        return wrap(await (session as Session).sendRequest(toSessionRequest(request)), request, place);
      } catch (error) {
        throw toError(error, request.signal, place);
      }
    },
    // The session belongs to the caller, who continues to use it.
    close: async () => {},
  };
}

/**
 * Builds a request in the form that HTTP clients of the Azure SDK expect. It asks them to return the body of the answer
 * as a stream, whatever the status of the answer.
 */
function toSessionRequest({ method, origin, path, headers, body, signal }: HttpRequest): object {
  return {
    url: origin + path,
    method,
    headers: new SessionHeaders(headers),
    body,
    abortSignal: signal,
    requestId: randomUUID(),
    timeout: 0,
    withCredentials: false,
    streamResponseStatusCodes: new Set([Number.POSITIVE_INFINITY]),
  };
}

/** Headers with case-insensitive names. The class has the methods that HTTP clients of the Azure SDK call. */
class SessionHeaders {
  readonly #values: Map<string, string>;

  constructor(headers: Readonly<Record<string, string>>) {
    this.#values = new Map(Object.entries(headers));
  }

  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase());
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  set(name: string, value: string | number | boolean): void {
    this.#values.set(name.toLowerCase(), String(value));
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#values.entries();
  }
}

function wrap(answer: SessionAnswer, { signal }: HttpRequest, place: ErrorPlace): HttpAnswer {
  const body = piecesOf(answer, signal, place);
  const { status } = answer;
  const bytes = async (most = Number.POSITIVE_INFINITY) => {
    const start = await startOf(body, most + 1);
    if (start.length > most) throw new TooLongError(most).named(place);
    return start;
  };
  return {
    status,
    header: (name) => answer.headers.get(name),
    headers: {},
    body,
    bytes,
    text: () => textOf({ status, body, bytes }),
    discard: async () => void (await startOf(body, mostDiscarded)),
  };
}

async function* piecesOf(
  { readableStreamBody, bodyAsText }: SessionAnswer,
  signal: AbortSignal | undefined,
  place: ErrorPlace,
): AsyncGenerator<Uint8Array> {
  try {
    if (readableStreamBody) yield* readableStreamBody;
    else if (bodyAsText) yield Buffer.from(bodyAsText);
  } catch (error) {
    throw toError(error, signal, place);
  }
}

function toError(error: unknown, signal: AbortSignal | undefined, place: ErrorPlace): unknown {
  if (signal?.aborted) return signal.reason;
  const message = `${place.scheme}://${place.bucket}: ${(error as Error).message}`;
  return new StorageError("network", message, { ...place, cause: error });
}
