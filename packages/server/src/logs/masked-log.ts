/**
 * A log without its secrets: each byte that belongs to an occurrence of one is `*`, so that offsets hold. What is masked
 * depends on the bytes of the log alone, not on how they are read. Byte-wise: what a log holds need not be text.
 */

/** Structurally what an engine's log offers. */
interface RawLog {
  size(): Promise<number>;
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

const mask = "*".charCodeAt(0);

export class MaskedLog implements RawLog {
  readonly #raw: RawLog;
  readonly #secrets: readonly Buffer[];
  /** How far an occurrence can reach beyond what is asked for. */
  readonly #margin: number;
  #ended: boolean;

  /** `ended`: no byte will follow. */
  constructor(raw: RawLog, secrets: readonly Buffer[], ended: boolean) {
    this.#raw = raw;
    this.#secrets = secrets;
    this.#margin = Math.max(0, ...secrets.map(({ length }) => length - 1));
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
    const tail = await this.#raw.read(Math.max(0, size - this.#margin), Math.min(size, this.#margin));
    return size - heldBack(tail, this.#secrets);
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const start = Math.max(0, offset - this.#margin);
    const wanted = offset - start + length + this.#margin;
    const bytes = await this.#raw.read(start, wanted);
    const cut = this.#ended || bytes.length === wanted ? 0 : heldBack(bytes, this.#secrets);
    const end = Math.max(offset - start, Math.min(offset - start + length, bytes.length - cut));
    return maskBytes(bytes, this.#secrets).subarray(offset - start, end);
  }

  close(): Promise<void> {
    return this.#raw.close();
  }
}

/** The same for bytes that are all there is. Copies them only where there is something to hide. */
export function maskBytes(bytes: Buffer, secrets: readonly Buffer[]): Buffer {
  // Found before any is masked: secrets may overlap.
  const found = secrets.flatMap((secret) => occurrences(bytes, secret));
  if (found.length === 0) return bytes;
  const masked = Buffer.from(bytes);
  for (const [start, end] of found) masked.fill(mask, start, end);
  return masked;
}

/** Stretches that occurrences cover. Those that overlap are taken as one, so that a hostile log costs no more. */
function occurrences(bytes: Buffer, secret: Buffer): [number, number][] {
  const found: [number, number][] = [];
  for (let start = bytes.indexOf(secret); start !== -1; ) {
    let last = start;
    for (;;) {
      const further = bytes.lastIndexOf(secret, last + secret.length);
      if (further === last) break;
      last = further;
    }
    const end = last + secret.length;
    found.push([start, end]);
    start = bytes.indexOf(secret, end);
  }
  return found;
}

/** How many bytes at the end are the beginning of a secret, the longest such beginning. */
function heldBack(bytes: Buffer, secrets: readonly Buffer[]): number {
  return Math.max(0, ...secrets.map((secret) => beginningAtEnd(bytes, secret)));
}

/** The longest end of the bytes with which the secret begins, without being all of it: by the usual table of borders. */
function beginningAtEnd(bytes: Buffer, secret: Buffer): number {
  const borders = bordersOf(secret);
  let matched = 0;
  for (let index = Math.max(0, bytes.length - secret.length + 1); index < bytes.length; index++) {
    while (matched > 0 && secret[matched] !== bytes[index]) matched = borders[matched - 1] as number;
    if (secret[matched] === bytes[index]) matched++;
  }
  return matched;
}

const known = new WeakMap<Buffer, Uint32Array>();

/** For each beginning of the secret: the longest shorter one that it also ends with. */
function bordersOf(secret: Buffer): Uint32Array {
  const table = known.get(secret) ?? new Uint32Array(secret.length);
  if (known.has(secret)) return table;
  for (let index = 1, matched = 0; index < secret.length; index++) {
    while (matched > 0 && secret[matched] !== secret[index]) matched = table[matched - 1] as number;
    if (secret[matched] === secret[index]) matched++;
    table[index] = matched;
  }
  known.set(secret, table);
  return table;
}
