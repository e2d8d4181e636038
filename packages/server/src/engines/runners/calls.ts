/**
 * Bounds the calls to the machinery of one cluster, which may be half dead or hostile: how long a call takes, how much
 * it answers, and how much of the server's time is spent on reading answers. All calls end when the cluster is closed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { EngineUnreachable } from "../engine.ts";

/** Milliseconds that one call may take, from its beginning to the end of its answer. */
const usualPatienceMs = 30_000;
/** The most bytes of one answer. */
const mostBytes = 16 * 1024 * 1024;
/** After a list, the next one waits for this many milliseconds per MiB, so that reading lists takes a small share. */
const restPerMib = 500;

export class Calls {
  readonly #closing = new AbortController();
  readonly #patienceMs: number;
  #restUntil = 0;

  constructor(patienceMs = usualPatienceMs) {
    this.#patienceMs = patienceMs;
  }

  /** Returns the signal that ends a call: because it takes too long, or because the cluster is closed. */
  limit(): AbortSignal {
    return AbortSignal.any([this.#closing.signal, AbortSignal.timeout(this.#patienceMs)]);
  }

  /** Waits until the next list may be asked for. */
  async rest(): Promise<void> {
    const ms = this.#restUntil - performance.now();
    // If the cluster is closed meanwhile, the call that follows fails.
    if (ms > 0) await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  /** Reads an answer. Throws if it has more bytes than any answer should have. */
  async read(answer: AsyncIterable<Uint8Array>): Promise<string> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of answer) {
      size += piece.length;
      if (size > mostBytes) throw new Error(`the answer is longer than ${mostBytes / 1024 ** 2} MiB`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString();
  }

  /** Notes the length of a list that was read. */
  noteList(text: string): void {
    this.#restUntil = performance.now() + (text.length / 1024 ** 2) * restPerMib;
  }

  close(): void {
    this.#closing.abort(new Error("the cluster was closed"));
  }
}

/** Says why a call failed. */
export function whyFailed(error: Error): string {
  // A process that a signal ended has the reason of the signal as its cause.
  const { name, message } = error.cause instanceof Error && error.name === "AbortError" ? error.cause : error;
  return name === "TimeoutError" ? `no answer within ${usualPatienceMs / 1000} seconds` : message;
}

/** Carries out a call to a cluster. An answer in which something is missing or has another type counts as no answer. */
export async function understood<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new EngineUnreachable(`The answer of the cluster cannot be understood: ${error.message}`, { cause: error });
  }
}
