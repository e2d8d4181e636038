/**
 * A log in which secrets are masked. Each byte of a secret becomes `*`, so offsets stay the same. The result depends
 * only on the bytes of the log, not on the offsets at which it is read. Masking works on bytes, because a log need not
 * be text.
 */
import { type SecretSearch, searchFor } from "./secret-search.ts";

/** Interface of an engine's log, declared here to avoid the import. */
interface RawLog {
  size(): Promise<number>;
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export class MaskedLog implements RawLog {
  readonly #raw: RawLog;
  readonly #search: SecretSearch;
  #ended: boolean;

  /**
   * `secrets` is a list of secrets, or the result of `searchFor` for them. `ended` tells whether the log is complete.
   */
  constructor(raw: RawLog, secrets: readonly Buffer[] | SecretSearch, ended: boolean) {
    this.#raw = raw;
    this.#search = "mask" in secrets ? secrets : searchFor(secrets);
    this.#ended = ended;
  }

  /** Declares the log complete, so that its last bytes are no longer held back. */
  end(): void {
    this.#ended = true;
  }

  /**
   * Returns the number of bytes that can be read. While the log may grow, this leaves out bytes at the end that may be
   * the beginning of a secret.
   */
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

  /**
   * Masks secrets in a text that was taken from this log and then changed. For example, if an escape sequence in the
   * middle of a secret is removed, the text contains the secret although the log does not.
   */
  mask(text: string): string {
    return this.#search.mask(Buffer.from(text)).toString("utf8");
  }

  close(): Promise<void> {
    return this.#raw.close();
  }
}

/**
 * Returns the bytes with secrets masked. Pass the whole content, because a secret that is cut off at the end is not
 * recognized.
 */
export const maskBytes = (bytes: Buffer, secrets: readonly Buffer[]): Buffer => searchFor(secrets).mask(bytes);
