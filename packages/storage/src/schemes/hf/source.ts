/**
 * Content to upload, with its size and hash. Content that came as a stream is in a temporary file, other content in
 * memory.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";

export interface Source {
  readonly size: number;
  readonly sha256: string;
  /** The first bytes of the content, from which the hub decides whether the file is text or binary. */
  readonly sample: Uint8Array;
  bytes(): Promise<Uint8Array>;
  stream(start: number, end: number): Readable;
}

const sampleSize = 512;

export const bytesSource = (bytes: Uint8Array): Source => ({
  size: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
  sample: bytes.subarray(0, sampleSize),
  bytes: async () => bytes,
  stream: (start, end) => Readable.from([Buffer.from(bytes.subarray(start, end))], { objectMode: false }),
});

/** Writes a stream to a temporary file, because the hub must know the hash and the size before the bytes are sent. */
export class Spool {
  readonly #folder: string;
  readonly #handle: FileHandle;
  readonly #hash = createHash("sha256");
  #size = 0;
  #sample: Uint8Array = new Uint8Array();

  private constructor(folder: string, handle: FileHandle) {
    this.#folder = folder;
    this.#handle = handle;
  }

  static async begin(): Promise<Spool> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-storage-"));
    return new Spool(folder, await open(join(folder, "content"), "wx", 0o600));
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    this.#size += bytes.length;
    if (this.#sample.length === 0) this.#sample = bytes.slice(0, sampleSize);
    await this.#handle.writeFile(bytes);
  }

  /** Returns the content as a source. Call this after the last piece was added. */
  async source(): Promise<Source> {
    await this.#handle.close();
    const file = join(this.#folder, "content");
    return {
      size: this.#size,
      sha256: this.#hash.digest("hex"),
      sample: this.#sample,
      bytes: () => readFile(file),
      stream: (start, end) => createReadStream(file, { start, end: Math.max(start, end - 1) }),
    };
  }

  async remove(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#folder, { recursive: true, force: true });
  }
}
