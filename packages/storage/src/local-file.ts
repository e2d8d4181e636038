/** Between a storage and files of this machine: bytes go to and from their places, without a stream in between. */
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Backend, Entry } from "./backend.ts";
import { readInto } from "./download.ts";
import type { ReadOptions, WriteOptions } from "./storage.ts";
import { inUpload, partSizes, widthOf } from "./upload.ts";
import { runAll } from "./window.ts";

/** Beside its place first, so that nobody sees half of it. Returns the number of bytes. */
export async function downloadFile(backend: Backend, key: string, file: string, options: ReadOptions): Promise<number> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${randomUUID().slice(0, 8)}.part`;
  const handle = await open(temporary, "wx");
  const writer = new PlacedWriter(handle);
  try {
    const bytes = await readInto(backend, key, options, (piece, at) => writer.write(piece, at));
    await writer.end();
    await handle.close();
    await rename(temporary, file);
    return bytes;
  } catch (error) {
    await writer.end().catch(() => {});
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Bytes that wait to be written, when whoever brings more must wait. */
const mostWaiting = 8 * 1024 * 1024;

/** Pieces that follow each other are written with one call, while the next ones come. */
class PlacedWriter {
  readonly #handle: FileHandle;
  /** By the place where the next piece of the run would be. */
  readonly #runs = new Map<number, { start: number; pieces: Uint8Array[] }>();
  #waiting = 0;
  #working: Promise<void> | undefined;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  write(piece: Uint8Array, at: number): Promise<void> | void {
    const run = this.#runs.get(at) ?? { start: at, pieces: [] };
    run.pieces.push(piece);
    this.#runs.delete(at);
    this.#runs.set(at + piece.length, run);
    this.#waiting += piece.length;
    this.#working ??= this.#work();
    this.#working.catch(() => {});
    return this.#waiting > mostWaiting ? this.#working : undefined;
  }

  async #work(): Promise<void> {
    try {
      for (let next = this.#runs.entries().next(); !next.done; next = this.#runs.entries().next()) {
        const [end, { start, pieces }] = next.value;
        this.#runs.delete(end);
        await this.#handle.writev(pieces, start);
        this.#waiting -= end - start;
      }
    } finally {
      this.#working = undefined;
    }
  }

  async end(): Promise<void> {
    await this.#working;
  }
}

/** Each part is read when its turn comes, into a buffer that is used again where the backend is done with it. */
export async function uploadFile(backend: Backend, file: string, key: string, options: WriteOptions): Promise<Entry> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    if (size <= backend.transfer.wholeUpTo) return await backend.put(key, await handle.readFile(), options);
    const partSize = partSizes(backend.transfer, options, size)(1);
    const unused: Buffer[] = [];
    const width = widthOf(backend.transfer, options);
    return await inUpload(backend, key, options, (put) =>
      runAll(Array.from({ length: Math.ceil(size / partSize) }).keys(), width, async (index) => {
        const buffer = unused.pop() ?? Buffer.allocUnsafeSlow(partSize);
        const start = index * partSize;
        await put(index + 1, await readFully(handle, buffer.subarray(0, Math.min(partSize, size - start)), start));
        if (!backend.transfer.partsInOrder) unused.push(buffer);
      }),
    );
  } finally {
    await handle.close();
  }
}

async function readFully(handle: FileHandle, target: Buffer, position: number): Promise<Buffer> {
  for (let filled = 0; filled < target.length; ) {
    const rest = { offset: filled, length: target.length - filled, position: position + filled };
    const { bytesRead } = await handle.read(target, rest);
    if (bytesRead === 0) throw new Error("the file became shorter while it was read");
    filled += bytesRead;
  }
  return target;
}
