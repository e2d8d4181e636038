/** Aho-Corasick automaton over the secrets: one pass over the bytes finds every secret, however many there are. */
export class SecretTree {
  /** Maximum number of bytes of a secret that are compared. */
  readonly #whole: number;
  /** The trie as arrays indexed by node: first child, next sibling, incoming byte, depth. Node 0 is the root. */
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #byte: Uint8Array;
  readonly #depth: Int32Array;
  /** Failure link: the node of the longest proper suffix that is also in the trie. */
  readonly #fail: Int32Array;
  /** Length in bytes of the longest secret that ends at the node; 0 if none does. */
  readonly #ending: Int32Array;
  /**
   * If the first `#whole` bytes of a longer secret end at the node: the number of bytes that follow in this secret. If
   * there are several such secrets, the longest decides. 0 for all other nodes.
   */
  readonly #ahead: Int32Array;
  /** Children of the root by byte, for fast lookup: most bytes of a log match nothing. */
  readonly #first = new Int32Array(256);
  #nodes = 1;

  /** Builds the automaton. A secret longer than `whole` bytes is recognized by its first `whole` bytes alone. */
  constructor(secrets: readonly Buffer[], whole: number) {
    this.#whole = whole;
    const most = 1 + secrets.reduce((sum, { length }) => sum + Math.min(length, whole), 0);
    this.#child = new Int32Array(most);
    this.#sibling = new Int32Array(most);
    this.#byte = new Uint8Array(most);
    this.#depth = new Int32Array(most);
    this.#fail = new Int32Array(most);
    this.#ending = new Int32Array(most);
    this.#ahead = new Int32Array(most);
    for (const secret of secrets) this.#add(secret);
    this.#link();
  }

  /**
   * Returns an array with one element per byte. If secrets start at the byte, the element is the exclusive end of the
   * longest one, which may lie after the last byte. Otherwise it is 0. Returns undefined if no secret was found.
   */
  reach(bytes: Buffer): Uint32Array | undefined {
    let reach: Uint32Array | undefined;
    let node = 0;
    for (let index = 0; index < bytes.length; index++) {
      node = this.#step(node, bytes[index] as number);
      const length = this.#ending[node] as number;
      if (length === 0) continue;
      reach ??= new Uint32Array(bytes.length);
      const begin = index + 1 - length;
      reach[begin] = Math.max(reach[begin] as number, index + 1 + (this.#ahead[node] as number));
    }
    return reach;
  }

  /** Returns the length of the longest suffix of `bytes` that is the beginning of a secret, but not a whole secret. */
  beginningAtEnd(bytes: Buffer): number {
    let node = 0;
    for (let index = Math.max(0, bytes.length - this.#whole + 1); index < bytes.length; index++)
      node = this.#step(node, bytes[index] as number);
    while (node !== 0 && this.#child[node] === 0) node = this.#fail[node] as number;
    return this.#depth[node] as number;
  }

  #step(from: number, byte: number): number {
    for (let node = from; node !== 0; node = this.#fail[node] as number) {
      const next = this.#childOf(node, byte);
      if (next !== 0) return next;
    }
    return this.#first[byte] as number;
  }

  #childOf(node: number, byte: number): number {
    if (node === 0) return this.#first[byte] as number;
    let child = this.#child[node] as number;
    while (child !== 0 && this.#byte[child] !== byte) child = this.#sibling[child] as number;
    return child;
  }

  #add(secret: Buffer): void {
    const length = Math.min(secret.length, this.#whole);
    let node = 0;
    for (let index = 0; index < length; index++) {
      const byte = secret[index] as number;
      node = this.#childOf(node, byte) || this.#grow(node, byte);
    }
    this.#ending[node] = length;
    this.#ahead[node] = Math.max(this.#ahead[node] as number, secret.length - length);
  }

  #grow(parent: number, byte: number): number {
    const node = this.#nodes++;
    this.#byte[node] = byte;
    this.#depth[node] = (this.#depth[parent] as number) + 1;
    this.#sibling[node] = this.#child[parent] as number;
    this.#child[parent] = node;
    if (parent === 0) this.#first[byte] = node;
    return node;
  }

  /** Sets the failure links level by level, because the link of a node depends on the link of its parent. */
  #link(): void {
    const queue: number[] = [0];
    for (const parent of queue) {
      for (let node = this.#child[parent] as number; node !== 0; node = this.#sibling[node] as number) {
        queue.push(node);
        if (parent !== 0) this.#fail[node] = this.#step(this.#fail[parent] as number, this.#byte[node] as number);
        // A shorter secret that also ends here lies within the longer one, so it counts only if no longer one ends
        // here.
        if (this.#ending[node] === 0) this.#ending[node] = this.#ending[this.#fail[node] as number] as number;
      }
    }
  }
}
