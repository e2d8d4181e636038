/**
 * A log without its secrets: each byte that belongs to an occurrence of one is `*`, so that offsets hold. What is masked
 * depends on the bytes of the log alone, not on how they are read. Byte-wise: what a log holds need not be text.
 */
import { type SecretSearch, searchFor } from "./secret-search.ts";

/** Structurally what an engine's log offers. */
interface RawLog {
  size(): Promise<number>;
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export class MaskedLog implements RawLog {
  readonly #raw: RawLog;
  readonly #search: SecretSearch;
  #ended: boolean;

  /** `secrets`: or what looks for them already. `ended`: no byte will follow. */
  constructor(raw: RawLog, secrets: readonly Buffer[] | SecretSearch, ended: boolean) {
    this.#raw = raw;
    this.#search = "mask" in secrets ? secrets : searchFor(secrets);
    this.#ended = ended;
  }

  /** From now on no byte will follow: nothing is held back any more. */
  end(): void {
    this.#ended = true;
  }

  /** While the log grows, without the beginning of what may become a secret. */
  async size(): Promise<number> {
    const size = await this.#raw.size();
    if (this.#ended || size === 0) return size;
    const tail = Math.min(size, this.#search.behind);
    return size - this.#search.heldBack(await this.#raw.read(size - tail, tail));
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const start = Math.max(0, offset - this.#search.before);
    const wanted = offset - start + length + this.#search.behind;
    const bytes = await this.#raw.read(start, wanted);
    const cut = this.#ended || bytes.length === wanted ? 0 : this.#search.heldBack(bytes);
    const end = Math.max(offset - start, Math.min(offset - start + length, bytes.length - cut));
    return this.#search.mask(bytes).subarray(offset - start, end);
  }

  /** The same for text that was taken from a log and changed: what an escape sequence tore apart is whole again. */
  mask(text: string): string {
    return this.#search.mask(Buffer.from(text)).toString("utf8");
  }

  close(): Promise<void> {
    return this.#raw.close();
  }
}

/** The same for bytes that are all there is. */
export const maskBytes = (bytes: Buffer, secrets: readonly Buffer[]): Buffer => searchFor(secrets).mask(bytes);
