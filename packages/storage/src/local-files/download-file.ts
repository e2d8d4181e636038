/** Downloads into a local file: bytes are written at their offsets, without a stream in between. */
import type { FileHandle } from "node:fs/promises";
import type { Backend } from "../backend.ts";
import { Slots } from "../concurrency/slots.ts";
import type { DownloadOptions } from "../options.ts";
import { named } from "../schemes/file/errors.ts";
import { TemporaryFile } from "../schemes/file/temporary-file.ts";
import { type Landing, readInto } from "../transfer/download.ts";
import { checkSize } from "../transfer/upload.ts";

export interface DownloadCall extends DownloadOptions {
  /** The expected size of the object in bytes. If the object has another size, the download fails. */
  readonly size?: number | undefined;
}

/**
 * Downloads to a temporary file and then moves it, so that nobody sees an incomplete file. Returns the number of bytes.
 */
export async function downloadFile(backend: Backend, key: string, file: string, call: DownloadCall): Promise<number> {
  let pieces: FilePieces | undefined;
  let total = 0;
  const count = (bytes: number) => {
    total += bytes;
    // A body of unknown length might never end, so the size is checked while it arrives.
    if (total > (call.size ?? total)) checkSize(key, call, total);
    call.onBytes?.(bytes);
  };
  try {
    const bytes = await readInto(backend, key, call, async (expected) => {
      if (Number.isFinite(expected)) checkSize(key, call, expected);
      pieces = new FilePieces(await TemporaryFile.open(file), expected, count);
      return pieces;
    });
    checkSize(key, call, bytes);
    await pieces?.allWritten();
    call.signal?.throwIfAborted();
    await pieces?.takePlace();
    return bytes;
  } catch (error) {
    await pieces?.giveUp();
    throw error;
  }
}

/** Size of a piece in bytes: small enough to be still in the CPU cache when the piece is written to the file. */
const pieceSize = 512 * 1024;

/** Maximum number of pieces that are filled or written at once; further pieces wait. */
const mostPieces = 32;

/**
 * Collects the content in pieces and writes them to the file. A piece is written while the next ones arrive, and its
 * buffer is then reused.
 */
class FilePieces implements Landing {
  readonly #file: TemporaryFile;
  readonly #pieceSize: number;
  readonly #onWritten: (bytes: number) => void;
  readonly #slots = new Slots(mostPieces);
  readonly #unused: Buffer[] = [];
  readonly #writing = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(file: TemporaryFile, expected: number, onWritten: (bytes: number) => void) {
    this.#file = file;
    this.#pieceSize = Math.min(pieceSize, Math.max(1, expected));
    this.#onWritten = onWritten;
  }

  async take(): Promise<Buffer> {
    await this.#slots.acquire(undefined);
    if (!this.#failure) return this.#unused.pop() ?? Buffer.allocUnsafeSlow(this.#pieceSize);
    this.#slots.release();
    throw this.#failure.error;
  }

  put(buffer: Buffer, length: number, at: number): void {
    const task = this.#write(buffer.subarray(0, length), at)
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

  async #write(bytes: Uint8Array, at: number): Promise<void> {
    const { file, handle } = this.#file;
    await named(file, () => writeFully(handle, bytes, at));
    this.#onWritten(bytes.length);
  }

  async allWritten(): Promise<void> {
    await Promise.all(this.#writing);
    if (this.#failure) throw this.#failure.error;
  }

  takePlace(): Promise<void> {
    return this.#file.takePlace();
  }

  async giveUp(): Promise<void> {
    await Promise.all(this.#writing);
    await this.#file.giveUp();
  }
}

async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.subarray(written);
    written += (await handle.write(rest, 0, rest.length, position + written)).bytesWritten;
  }
}
