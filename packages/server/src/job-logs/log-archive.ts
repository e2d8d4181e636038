/**
 * Archives the logs of ended attempts as blobs, if blobs are kept at a storage URI. If blobs are kept in the data
 * folder, logs stay where the engine wrote them and there is no archive. A log is uploaded completely before the
 * engine's file is deleted, so after a crash the next start finds the file and uploads it again.
 */
import { createReadStream } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { logName } from "../blobs/blob-names.ts";
import { BlobMissing, type Blobs, type OpenBlob } from "../blobs/blobs.ts";
import type { LogSource } from "../engines/engine.ts";
import { Signal } from "../turns/signals.ts";

export class LogArchive {
  /** Keys of ended attempts whose logs the archiving loop still has to upload. */
  readonly pending = new Set<string>();
  readonly signal = new Signal();
  readonly #blobs: Blobs;
  readonly #file: (key: string) => string;
  readonly #onStored: () => void;

  /**
   * `file` returns the path of an attempt's log file in the engine. `onStored` is called after an upload, before that
   * file is deleted.
   */
  constructor(blobs: Blobs, file: (key: string) => string, onStored: () => void = () => {}) {
    this.#blobs = blobs;
    this.#file = file;
    this.#onStored = onStored;
  }

  /**
   * Queues the log of an attempt for upload. The attempt must have ended, because nothing may write to the log any
   * more.
   */
  add(key: string): void {
    this.pending.add(key);
    this.signal.wake();
  }

  /** Uploads the log of an attempt, then deletes the engine's log file. Does nothing if there is no such file. */
  async keep(key: string): Promise<void> {
    const file = this.#file(key);
    if (!(await lstat(file).catch(absent))?.isFile()) return;
    await this.#blobs.put(logName(key), createReadStream(file));
    this.#onStored();
    const wasThere = await unlink(file).then(() => true, absent);
    // Log retention deleted the file during the upload, before the blob existed; so delete the blob now.
    if (!wasThere) await this.remove(key);
  }

  /**
   * Opens the log of an attempt. While the engine's log file has content, reads from this file. If the file is empty or
   * deleted and the attempt has ended (`isOver`), reads from the blob.
   */
  open(key: string, live: LogSource, isOver: () => Promise<boolean>): LogSource {
    let kept: OpenBlob | undefined;
    const source = async (): Promise<LogSource | OpenBlob> => {
      if (kept || (await live.size()) > 0 || !(await isOver())) return kept ?? live;
      kept = await this.#blobs.open(logName(key)).catch(noBlob);
      return kept ?? live;
    };
    return {
      size: async () => sizeOf(await source()),
      read: async (offset, length) => (await source()).read(offset, length),
      async close() {
        await live.close();
        await kept?.close();
      },
    };
  }

  /**
   * Returns the length of a log in bytes, whether or not it is uploaded yet; undefined if there is no log. A sparse
   * file counts with its full length, because a blob storage has no sparse files.
   */
  async size(key: string): Promise<number | undefined> {
    const file = await lstat(this.#file(key)).catch(absent);
    return file?.isFile() ? file.size : this.#blobs.size(logName(key));
  }

  remove(key: string): Promise<void> {
    return this.#blobs.remove(logName(key));
  }
}

const sizeOf = (source: LogSource | OpenBlob) => (typeof source.size === "number" ? source.size : source.size());

function noBlob(error: unknown): undefined {
  if (!(error instanceof BlobMissing)) throw error;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
