/**
 * Reads the log file of an attempt. The first read opens the file. If the file does not exist yet, the next read tries
 * again.
 */
import { type FileHandle, open } from "node:fs/promises";

export class LogFile {
  readonly #path: string;
  /**
   * The open file, which concurrent reads share. If each read opened the file itself, a handle could be left open, and
   * Node ends a process that leaks a file handle.
   */
  #opening: Promise<FileHandle | undefined> | undefined;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
  }

  async size(): Promise<number> {
    return (await (await this.#open())?.stat())?.size ?? 0;
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const file = await this.#open();
    if (!file) return Buffer.alloc(0);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#opening)?.close();
  }

  async #open(): Promise<FileHandle | undefined> {
    if (this.#closed) return undefined;
    const opening = this.#opening ?? open(this.#path, "r").catch(() => undefined);
    this.#opening = opening;
    const file = await opening;
    if (!file && this.#opening === opening) this.#opening = undefined;
    return file;
  }
}
