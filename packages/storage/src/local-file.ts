/** Between a storage and files of this machine: bytes go to and from their places, without a stream in between. */
import { type FileHandle, rename, rm } from "node:fs/promises";
import type { Backend, Entry, Upload } from "./backend.ts";
import { type Landing, readInto } from "./download.ts";
import { openRegular } from "./schemes/file/read.ts";
import { openBeside } from "./schemes/file/write.ts";
import { Slots } from "./slots.ts";
import type { DownloadOptions, TransferProgress, UploadOptions, WriteOptions } from "./storage.ts";
import { checkSize, inUpload, partSizes } from "./upload.ts";
import { runAll } from "./window.ts";

/** Beside its place first, so that nobody sees half of it. Returns the number of bytes. */
export async function downloadFile(
  backend: Backend,
  key: string,
  file: string,
  options: DownloadOptions & { readonly size?: number | undefined },
): Promise<number> {
  const { temporary, handle } = await openBeside(file);
  const pieces = new FilePieces(handle, options);
  try {
    const bytes = await readInto(backend, key, options, pieces);
    checkSize(key, options, bytes);
    await pieces.end();
    await handle.close();
    await rename(temporary, file);
    return bytes;
  } catch (error) {
    await pieces.end().catch(() => {});
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Bytes of a piece: much of it is still at the processor when it is written. */
const pieceSize = 512 * 1024;

/** Pieces that are being filled or written at once; whoever wants more must wait. */
const mostPieces = 32;

/** Pieces of a file, in buffers that are used again: they are written while the next ones come. */
class FilePieces implements Landing {
  readonly #handle: FileHandle;
  readonly #onBytes: TransferProgress["onBytes"];
  readonly #slots = new Slots(mostPieces);
  readonly #unused: Buffer[] = [];
  readonly #writing = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(handle: FileHandle, { onBytes }: TransferProgress) {
    this.#handle = handle;
    this.#onBytes = onBytes;
  }

  async take(wanted: number): Promise<Buffer> {
    await this.#slots.acquire(undefined);
    if (this.#failure) {
      this.#slots.release();
      throw this.#failure.error;
    }
    return this.#unused.pop() ?? Buffer.allocUnsafeSlow(Math.min(pieceSize, wanted));
  }

  put(buffer: Buffer, length: number, at: number): void {
    const task = writeFully(this.#handle, buffer.subarray(0, length), at)
      .then(() => this.#onBytes?.(length))
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .then(() => {
        this.#unused.push(buffer);
        this.#slots.release();
        this.#writing.delete(task);
      });
    this.#writing.add(task);
  }

  async end(): Promise<void> {
    await Promise.all(this.#writing);
    if (this.#failure) throw this.#failure.error;
  }
}

async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.subarray(written);
    written += (await handle.write(rest, 0, rest.length, position + written)).bytesWritten;
  }
}

/** Each part is read when its turn comes, into a buffer that is used again. */
export async function uploadFile(backend: Backend, file: string, key: string, options: UploadOptions): Promise<Entry> {
  const { onBytes, ...call } = options;
  const {
    handle,
    entry: { size },
  } = await openRegular(file);
  try {
    checkSize(key, options, size);
    if (size > backend.transfer.wholeUpTo) return await uploadParts(backend, handle, key, { ...call, size }, onBytes);
    const entry = await backend.put(key, await handle.readFile(), call);
    onBytes?.(size);
    return entry;
  } finally {
    await handle.close();
  }
}

function uploadParts(
  backend: Backend,
  handle: FileHandle,
  key: string,
  call: WriteOptions & { readonly size: number },
  onBytes: TransferProgress["onBytes"],
): Promise<Entry> {
  const { transfer } = backend;
  const parts = partsOfFile(handle, call.size, partSizes(transfer, call, call.size)(1));
  const width = call.concurrency ?? transfer.concurrency;
  return inUpload(backend, key, call, (put) => {
    const putAndTell: Upload["put"] = async (part, bytes) => {
      await put(part, bytes);
      onBytes?.(bytes.length);
    };
    return transfer.partsInOrder ? putInOrder(parts, putAndTell) : putSideBySide(parts, putAndTell, width);
  });
}

interface FileParts {
  readonly count: number;
  /** As long as a part. */
  newBuffer(): Buffer;
  /** Reads a part into a buffer, of which the last does not need all. */
  read(index: number, buffer: Buffer): Promise<Buffer>;
}

const partsOfFile = (handle: FileHandle, size: number, partSize: number): FileParts => ({
  count: Math.ceil(size / partSize),
  newBuffer: () => Buffer.allocUnsafeSlow(partSize),
  read(index, buffer) {
    const start = index * partSize;
    return readFully(handle, buffer.subarray(0, Math.min(partSize, size - start)), start);
  },
});

async function putSideBySide(parts: FileParts, put: Upload["put"], width: number): Promise<void> {
  const unused: Buffer[] = [];
  await runAll(Array.from({ length: parts.count }).keys(), width, async (index) => {
    const buffer = unused.pop() ?? parts.newBuffer();
    await put(index + 1, await parts.read(index, buffer));
    unused.push(buffer);
  });
}

/** The next part is read while one is on its way. */
async function putInOrder(parts: FileParts, put: Upload["put"]): Promise<void> {
  let [current, next] = [parts.newBuffer(), parts.newBuffer()];
  let sending = Promise.resolve();
  for (let index = 0; index < parts.count; index += 1) {
    const bytes = await parts.read(index, current);
    await sending;
    sending = put(index + 1, bytes);
    // Met by the next part, or at the end.
    sending.catch(() => {});
    [current, next] = [next, current];
  }
  await sending;
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
