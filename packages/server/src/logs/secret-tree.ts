/**
 * The beginnings of all secrets as one tree, with the links that Aho and Corasick gave it: one pass over the bytes finds
 * every secret, however many there are and however they repeat themselves.
 */
export class SecretTree {
  readonly #whole: number;
  /** Of each node: its first child, its next sibling, the byte that leads to it, how deep it lies. Node 0 is the root. */
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #byte: Uint8Array;
  readonly #depth: Int32Array;
  /** The node of the longest proper end of this one that is in the tree too. */
  readonly #fail: Int32Array;
  /** The longest secret that ends here, in bytes; 0: none. */
  readonly #ending: Int32Array;
  /** How far a secret that is longer than `whole` goes on behind this node. */
  readonly #ahead: Int32Array;
  /** Children of the root, by byte: most bytes of a log lead nowhere. */
  readonly #first = new Int32Array(256);
  #nodes = 1;

  /** Of a secret that is longer than `whole` only so many bytes are looked at. */
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

  /** For each byte where an occurrence begins: the end of the longest one. Undefined: there is none. */
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

  /** The longest end of the bytes with which a secret begins, without being all of what is looked at of it. */
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

  /** Level by level: the link of a node follows from that of its parent. */
  #link(): void {
    const queue: number[] = [0];
    for (const parent of queue) {
      for (let node = this.#child[parent] as number; node !== 0; node = this.#sibling[node] as number) {
        queue.push(node);
        if (parent !== 0) this.#fail[node] = this.#step(this.#fail[parent] as number, this.#byte[node] as number);
        // What ends here too is shorter and lies within; it counts where nothing longer ends.
        if (this.#ending[node] === 0) this.#ending[node] = this.#ending[this.#fail[node] as number] as number;
      }
    }
  }
}
