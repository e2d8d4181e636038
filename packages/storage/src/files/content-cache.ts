/**
 * Local copies of files, shared by all processes that use the same folder. A copy appears whole or not at all, because
 * it is moved into place. Locks are used only so that two processes do not fetch the same file, and so that the
 * recorded total size is correct.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import type { CallOptions } from "../backend.ts";
import { StorageError } from "../errors.ts";
import { withFileLock } from "./file-lock.ts";
import type { FileRecord } from "./file-record.ts";

export interface ContentCacheOptions {
  /** Maximum total size of the copies in bytes. */
  readonly max_bytes: number;
}

export class ContentCache {
  readonly folder: string;
  readonly #limit: number;

  constructor(folder: string, { max_bytes }: ContentCacheOptions) {
    if (!(typeof max_bytes === "number" && max_bytes > 0)) {
      throw new StorageError("invalid", `max_bytes: expected a positive number of bytes, got ${inspect(max_bytes)}`);
    }
    this.folder = folder;
    this.#limit = max_bytes;
  }

  /**
   * Returns the path of a copy, even if there is no copy yet. The path depends on source, path, version and ETag of the
   * file, so that a changed file gets another copy.
   */
  placeOf({ source, path, version, etag }: FileRecord): string {
    const name = createHash("sha256")
      .update(JSON.stringify([source, path, version, etag]))
      .digest("hex");
    return join(this.folder, "files", name.slice(0, 2), name.slice(2));
  }

  async has(record: FileRecord): Promise<boolean> {
    return stat(this.placeOf(record)).then(
      () => true,
      () => false,
    );
  }

  /**
   * Returns the path of a copy. If there is no copy, calls `fetch` with the path of a new file, into which `fetch` must
   * write the content.
   */
  async ensure(
    record: FileRecord,
    fetch: (file: string) => Promise<unknown>,
    { signal }: CallOptions = {},
  ): Promise<string> {
    const place = this.placeOf(record);
    if (await markUsed(place)) return place;
    if (record.size > this.#limit) {
      const message = `${record.path} has ${record.size} bytes, more than the cache's max_bytes of ${this.#limit}; increase max_bytes, or read the file without the cache`;
      throw new StorageError("invalid", message, { key: record.path });
    }
    return withFileLock(`${place}.lock`, signal, async () => {
      if (await markUsed(place)) return place;
      await this.#bring(record, place, fetch);
      return place;
    });
  }

  async #bring(record: FileRecord, place: string, fetch: (file: string) => Promise<unknown>): Promise<void> {
    const part = join(this.folder, "parts", randomUUID());
    await mkdir(join(this.folder, "parts"), { recursive: true });
    try {
      await fetch(part);
      const { size } = await stat(part);
      if (size !== record.size) {
        const message = `${record.path}: received ${size} bytes, but the listing states ${record.size}; list the file again`;
        throw new StorageError("precondition", message, { key: record.path });
      }
      await this.#takeIn(part, place, size);
    } finally {
      await rm(part, { force: true });
    }
  }

  /** Moves a fetched file into the cache. Removes older copies first, so that the total never exceeds the limit. */
  #takeIn(part: string, place: string, size: number): Promise<void> {
    const total = join(this.folder, "total");
    return withFileLock(join(this.folder, "total.lock"), undefined, async () => {
      const counted = Number(await readFile(total, "utf8").catch(() => Number.NaN));
      const known = Number.isNaN(counted) || counted + size > this.#limit ? await this.#makeRoom(size) : counted;
      // Written before the move: if the process dies in between, the recorded total is too high until the folder is
      // scanned again.
      await writeFile(total, String(known + size));
      await rename(part, place);
    });
  }

  /**
   * Removes the least recently used copies until `size` more bytes fit. Returns the total size of the remaining copies.
   */
  async #makeRoom(size: number): Promise<number> {
    const copies = await copiesIn(join(this.folder, "files"));
    let total = copies.reduce((sum, copy) => sum + copy.size, 0);
    for (const copy of copies.toSorted((a, b) => a.used - b.used)) {
      if (total + size <= this.#limit) break;
      await rm(copy.path, { force: true });
      total -= copy.size;
    }
    return total;
  }
}

/** Records that a copy was used now. Returns false if there is no copy. */
async function markUsed(place: string): Promise<boolean> {
  const now = new Date();
  return utimes(place, now, now).then(
    () => true,
    () => false,
  );
}

interface Copy {
  readonly path: string;
  readonly size: number;
  readonly used: number;
}

async function copiesIn(folder: string): Promise<Copy[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = names.filter((name) => name.isFile() && !name.name.includes("."));
  const looked = await Promise.all(files.map(({ parentPath, name }) => look(join(parentPath, name))));
  return looked.filter((copy) => copy !== undefined);
}

/** Returns the size of a copy and the time of its last use, or undefined if another process has removed it. */
async function look(path: string): Promise<Copy | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats && { path, size: stats.size, used: stats.mtimeMs };
}
