/**
 * The body of an object or of a range. If the body breaks off, or holds less than was asked for, the rest is requested,
 * always from the same version of the object.
 */
import type { ByteRange, Content } from "../backend.ts";
import { retry } from "../concurrency/retry.ts";
import { isStorageError, StorageError } from "../errors.ts";
import type { Reading } from "./reading.ts";

export class SteadyBody {
  readonly #reading: Reading;
  readonly #first: Content;
  /** Offset at which the wanted bytes end. */
  readonly #end: number;
  #body: BodyReader;
  /** Offset at which the bytes of the current body end. A server may send less of a range than was asked for. */
  #bodyEnd: number;
  /** Offset of the next byte in the object. */
  #at: number;

  constructor(reading: Reading, first: Content, end = first.end) {
    this.#reading = reading;
    this.#first = first;
    this.#end = end;
    this.#body = new BodyReader(first);
    this.#bodyEnd = first.end;
    this.#at = first.start;
  }

  /**
   * Fills the buffer and returns the number of bytes. The number is less than the size of the buffer only at the end of
   * the body.
   */
  async fill(buffer: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < buffer.length && this.#at < this.#end) {
      const taken = await this.#steadily(async (body) => await body.fill(buffer.subarray(filled)));
      if (taken === 0) break;
      filled += taken;
    }
    if (this.#at >= this.#end) await this.#body.finish();
    return filled;
  }

  /** Yields the pieces as they arrive. Ending the iteration early abandons the rest. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    let piece: Uint8Array | undefined;
    try {
      do {
        await this.#steadily(async (body) => {
          piece = await body.next();
          return piece?.length ?? 0;
        });
        if (piece) yield piece;
      } while (piece);
    } finally {
      await this.close();
    }
  }

  /** Abandons the unread rest of the body. */
  async close(): Promise<void> {
    await this.#body.close();
  }

  /**
   * Takes bytes and returns their number, or 0 at the end of the body. If the body breaks off, requests the rest. The
   * retry policy limits the number of consecutive attempts that bring no bytes.
   */
  async #steadily(take: (body: BodyReader) => Promise<number>): Promise<number> {
    const { retry: policy } = this.#reading.backend.transfer;
    if (this.#at >= this.#bodyEnd && !this.#isComplete) await this.#goOn();
    for (let inVain = 0; ; inVain += 1) {
      const outcome = await take(this.#body).catch(asBroken);
      if (typeof outcome === "number" && (outcome > 0 || this.#isComplete)) {
        this.#at += outcome;
        return outcome;
      }
      const error = typeof outcome === "number" ? this.#tooShort() : outcome;
      if (inVain >= policy.attempts) throw error;
      await this.#body.close();
      // The first attempt only fails, so that `retry` pauses. The second one calls the backend, which has its own
      // retries.
      await retry({ ...policy, attempts: 2 }, this.#reading.options.signal, async (attempt) => {
        if (attempt === 1) throw error;
        await this.#openRest();
      });
    }
  }

  /** Requests the next bytes after a body that was complete, but held less than was asked for. */
  async #goOn(): Promise<void> {
    await this.#body.finish();
    await this.#openRest();
  }

  async #openRest(): Promise<void> {
    const content = await reopen(this.#reading, this.#first, { start: this.#at, end: this.#end });
    this.#body = new BodyReader(content);
    this.#bodyEnd = content.end;
  }

  get #isComplete(): boolean {
    return this.#at >= this.#end || !Number.isFinite(this.#end);
  }

  #tooShort(): StorageError {
    const { key } = this.#reading;
    const message = `${key}: the store's answer ended at byte ${this.#at} of ${this.#end}`;
    return new StorageError("network", message, { key });
  }
}

/** Returns the error if it is retryable; otherwise throws the error. */
function asBroken(error: unknown): StorageError {
  if (isStorageError(error) && error.retryable) return error;
  throw error;
}

/** Requests a range of the same object as before. Throws if the object was replaced. */
export async function reopen(
  { backend, key, options }: Reading,
  first: Content,
  { start, end }: ByteRange,
): Promise<Content> {
  const { etag, version } = first.entry;
  const pin = { version: options.version ?? (version || undefined), ifMatch: etag || undefined };
  const content = await backend.read(key, { ...options, ...pin, start, end });
  if (content.entry.etag !== etag || content.start !== start) {
    await abandon(content);
    throw new StorageError("precondition", `${key} was replaced while it was read; read it again`, { key });
  }
  return content;
}

/** Abandons content that nobody will read. */
export const abandon = (content: Content): Promise<void> => new BodyReader(content).close();

/** Reads one body in pieces or into buffers, depending on what the backend supports. */
class BodyReader {
  readonly #fill: Content["fill"];
  readonly #close: Content["close"];
  readonly #pieces: AsyncIterator<Uint8Array>;
  /** The rest of a piece that was longer than the buffer. */
  #over: Uint8Array | undefined;
  #begun = false;
  #ended = false;

  constructor(content: Content) {
    this.#fill = content.fill?.bind(content);
    this.#close = content.close?.bind(content);
    this.#pieces = content.body[Symbol.asyncIterator]();
  }

  async next(): Promise<Uint8Array | undefined> {
    this.#begun = true;
    try {
      const next = await this.#pieces.next();
      this.#ended = next.done === true;
      return next.done ? undefined : next.value;
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  /** Reads into the buffer. If the body arrives in pieces, takes at most one piece. */
  async fill(buffer: Uint8Array): Promise<number> {
    if (this.#fill) return this.#fill(buffer);
    const piece = this.#over ?? (await this.next());
    if (!piece) return 0;
    const taken = piece.subarray(0, buffer.length);
    buffer.set(taken);
    this.#over = taken.length < piece.length ? piece.subarray(taken.length) : undefined;
    return taken.length;
  }

  /** Reads to the end of the body after all wanted bytes have arrived, so that the connection is released. */
  async finish(): Promise<void> {
    if (!this.#fill) await this.next().catch(() => undefined);
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    if (this.#close) this.#close();
    else {
      // A generator must be started before it can be closed: otherwise its cleanup would not run.
      if (!this.#begun) await this.next().catch(() => undefined);
      if (!this.#ended) await this.#pieces.return?.();
    }
    this.#ended = true;
  }
}
