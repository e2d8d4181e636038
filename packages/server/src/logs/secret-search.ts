/** Finds secrets in the bytes of a log. What it costs depends on the bytes alone, whatever the secrets are. */
import { SecretTree } from "./secret-tree.ts";

export interface SecretSearch {
  /** How far before the bytes that are asked for an occurrence may begin. */
  readonly before: number;
  /** How far behind them an occurrence must be seen. */
  readonly behind: number;
  /** With a star for each byte of an occurrence. Copies the bytes only where there is something to hide. */
  mask(bytes: Buffer): Buffer;
  /** How many bytes at the end are the beginning of a secret. */
  heldBack(bytes: Buffer): number;
}

/** Up to this length a secret is looked for whole. What begins like a longer one for so many bytes is taken for it. */
const wholeBytes = 250;

/** The platform's search is linear for short patterns, and faster than ours while there are only a few of them. */
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
    // Found before any is masked: secrets may overlap.
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
