/** Finds secrets in the bytes of a log. The time is linear in the number of bytes, whatever the secrets are. */
import { SecretTree } from "./secret-tree.ts";

export interface SecretSearch {
  /**
   * Number of bytes before a range that must be read together with the range. A secret that starts there may reach into
   * the range.
   */
  readonly before: number;
  /**
   * Number of bytes after a range that must be read together with the range, to recognize a secret that starts inside
   * it.
   */
  readonly behind: number;
  /** Replaces each byte of a secret with a star. Copies `bytes` only if something is masked. */
  mask(bytes: Buffer): Buffer;
  /** Returns how many bytes at the end of `bytes` may be the beginning of a secret. */
  heldBack(bytes: Buffer): number;
}

/** Maximum number of bytes of a secret that are compared. Of a longer secret, only the first bytes must match. */
const wholeBytes = 250;

/**
 * Maximum number of secrets for which `PlainSearch` is used. With few and short secrets, one `indexOf` per secret is
 * faster than `SecretTree`.
 */
const few = 16;

export const searchFor = (secrets: readonly Buffer[]): SecretSearch =>
  secrets.length <= few && secrets.every(({ length }) => length <= wholeBytes)
    ? new PlainSearch(secrets)
    : new TreeSearch(secrets);

const star = "*".charCodeAt(0);

class PlainSearch implements SecretSearch {
  readonly before: number;
  readonly behind: number;
  readonly #secrets: readonly Buffer[];
  readonly #tree: SecretTree;

  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets;
    this.#tree = new SecretTree(secrets, wholeBytes);
    this.before = Math.max(0, ...secrets.map(({ length }) => length - 1));
    this.behind = this.before;
  }

  mask(bytes: Buffer): Buffer {
    // All occurrences are found before any is masked, because secrets may overlap.
    const found = this.#secrets.flatMap((secret) => occurrences(bytes, secret));
    if (found.length === 0) return bytes;
    const masked = Buffer.from(bytes);
    for (const [start, end] of found) masked.fill(star, start, end);
    return masked;
  }

  heldBack(bytes: Buffer): number {
    return this.#tree.beginningAtEnd(bytes);
  }
}

/**
 * Returns the ranges of `bytes` that the secret covers, each as start and exclusive end. Overlapping ranges are merged;
 * otherwise masking a log with very many overlapping ranges would take long.
 */
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

class TreeSearch implements SecretSearch {
  readonly before: number;
  readonly behind = wholeBytes - 1;
  readonly #tree: SecretTree;

  constructor(secrets: readonly Buffer[]) {
    this.#tree = new SecretTree(secrets, wholeBytes);
    this.before = Math.max(0, ...secrets.map(({ length }) => length - 1));
  }

  mask(bytes: Buffer): Buffer {
    const reach = this.#tree.reach(bytes);
    if (!reach) return bytes;
    const masked = Buffer.from(bytes);
    for (let index = 0, end = 0; index < bytes.length; index++) {
      end = Math.max(end, reach[index] as number);
      if (index < end) masked[index] = star;
    }
    return masked;
  }

  heldBack(bytes: Buffer): number {
    return this.#tree.beginningAtEnd(bytes);
  }
}
