/**
 * Logs of ended attempts as blobs, where blobs lie at a URI. In the data folder a log stays where its engine left it, so
 * there is no archive then. A log is uploaded whole before the engine's copy is removed: whoever dies in between leaves
 * the copy, which the next start finds and uploads again.
 */
import { createReadStream } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { logName } from "../blobs/blob-names.ts";
import { BlobMissing, type Blobs, type OpenBlob } from "../blobs/blobs.ts";
import type { LogSource } from "../engines/engine.ts";
import { Signal } from "../turns/signals.ts";

export class LogArchive {
  /** Attempts to look at; told to the loop that uploads their logs. */
  readonly pending = new Set<string>();
  readonly signal = new Signal();
  readonly #blobs: Blobs;
  readonly #file: (key: string) => string;
  readonly #onStored: () => void;

  /** `file`: where the engine keeps the log of an attempt. `onStored`: a log was uploaded, and its copy is still there. */
  constructor(blobs: Blobs, file: (key: string) => string, onStored: () => void = () => {}) {
    this.#blobs = blobs;
    this.#file = file;
    this.#onStored = onStored;
  }

  /** This attempt is over, and nothing writes into its log any more. */
  add(key: string): void {
    this.pending.add(key);
    this.signal.wake();
  }

  /** Uploads the log, then removes the engine's copy. Without such a copy nothing is left to do. */
  async keep(key: string): Promise<void> {
    const file = this.#file(key);
    if (!(await lstat(file).catch(absent))?.isFile()) return;
    await this.#blobs.put(logName(key), createReadStream(file));
    this.#onStored();
    const wasThere = await unlink(file).then(() => true, absent);
    // Its time was over while it was uploaded, and whoever removed it did not find the blob.
    if (!wasThere) await this.remove(key);
  }

  /** The engine's log while there is one, else the blob. `isOver`: whether the attempt has ended by now. */
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

  /** In bytes; undefined: it is not here. */
  size(key: string): Promise<number | undefined> {
    return this.#blobs.size(logName(key));
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
