/** Stores blobs as files in local folders. `put` returns only after the file was synced to disk. */
import { randomUUID } from "node:crypto";
import { constants, createWriteStream } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  type BlobEntry,
  BlobMissing,
  type Blobs,
  type Copy,
  checkFolder,
  checkName,
  draftEnd,
  type Measured,
  Meter,
  type OpenBlob,
} from "./blobs.ts";

/** Path of the folder for each kind of blob. The kind is the first part of the blob's name. */
export interface BlobFolders {
  readonly files: string;
  readonly exports: string;
  readonly packs: string;
}

export class FolderBlobs implements Blobs {
  readonly isLocal = true;
  readonly #folders: BlobFolders;

  constructor(folders: BlobFolders) {
    this.#folders = folders;
  }

  /** Returns the folder for this kind of blob; undefined if there is no folder for this kind. */
  #folder(name: string): string | undefined {
    return Object.entries(this.#folders).find(([top]) => top === topOf(name))?.[1];
  }

  /** Returns the final path of a blob (`path`), and the folder in which it is written until it is complete (`top`). */
  #place(name: string): { top: string; path: string } {
    const top = this.#folder(checkName(name));
    if (top === undefined)
      throw new Error(
        `${JSON.stringify(name)} is not a valid blob name: expected a name that begins with ${Object.keys(this.#folders).join("/ or ")}/.`,
      );
    return { top, path: join(top, restOf(name)) };
  }

  #path(name: string): string {
    return this.#place(name).path;
  }

  async put(
    name: string,
    content: AsyncIterable<Uint8Array>,
    { limit }: { readonly limit?: number } = {},
  ): Promise<Measured> {
    const meter = new Meter(content, limit);
    // Readable by everyone, because a job gets a hard link to this file.
    await this.make(name, (draft) =>
      pipeline(Readable.from(meter.bytes()), createWriteStream(draft, { mode: 0o444, flags: "wx" })),
    );
    return meter.measured();
  }

  async make(name: string, write: (path: string) => Promise<void>): Promise<number> {
    const { top, path } = this.#place(name);
    const draft = join(top, `${randomUUID()}${draftEnd}`);
    await mkdir(top, { recursive: true, mode: 0o700 });
    try {
      await write(draft);
      const bytes = await sync(draft);
      await place(draft, path);
      return bytes;
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async open(name: string): Promise<OpenBlob> {
    const file = await open(this.#path(name), constants.O_RDONLY | constants.O_NOFOLLOW).catch(missing(name));
    const { size } = await file.stat();
    return {
      size,
      async read(offset, length) {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
      stream: () => file.createReadStream(),
      close: () => file.close(),
    };
  }

  async size(name: string): Promise<number | undefined> {
    return (await found(this.#path(name)))?.size;
  }

  async remove(name: string): Promise<void> {
    const path = this.#path(name);
    await rm(path, { force: true });
    // Fails, as intended, if the folder is not empty.
    if (dirname(name) !== topOf(name)) await rmdir(dirname(path)).catch(() => {});
  }

  async *list(folder: string): AsyncGenerator<BlobEntry> {
    for (const path of await this.#filesIn(checkFolder(folder))) {
      const file = path.endsWith(draftEnd) ? undefined : await found(path);
      const name = `${topOf(folder)}/${relative(this.#folder(folder) ?? "", path)}`;
      if (file) yield { name, size: file.size, modifiedAt: file.mtimeMs };
    }
  }

  async fetch(name: string): Promise<string> {
    const path = await this.copyOf(name);
    if (path === undefined) throw new BlobMissing(name);
    return path;
  }

  async copyOf(name: string): Promise<string | undefined> {
    const path = this.#path(name);
    return (await found(path)) ? path : undefined;
  }

  async copies(): Promise<Copy[]> {
    return [];
  }

  async removeCopy(): Promise<void> {}

  async tidy({ leftBefore }: { readonly leftBefore: number }): Promise<void> {
    for (const top of Object.keys(this.#folders)) {
      for (const path of (await this.#filesIn(`${top}/`)).filter((candidate) => candidate.endsWith(draftEnd))) {
        const written = (await found(path))?.mtimeMs ?? Number.POSITIVE_INFINITY;
        if (written < leftBefore) await rm(path, { force: true });
      }
    }
  }

  async #filesIn(folder: string): Promise<string[]> {
    const top = this.#folder(folder);
    if (top === undefined) return [];
    const entries = await readdir(join(top, restOf(folder)), { recursive: true, withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return [];
        throw error;
      },
    );
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  async close(): Promise<void> {}
}

const topOf = (name: string) => name.slice(0, name.indexOf("/"));
const restOf = (name: string) => name.slice(name.indexOf("/") + 1);

/**
 * Moves a finished file to its final path. Tries several times, because a concurrent `remove` may delete the new folder
 * while the folder is still empty.
 */
async function place(draft: string, path: string, tries = 5): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await rename(draft, path);
    await sync(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || tries === 1) throw error;
    await place(draft, path, tries - 1);
  }
}

const missing = (name: string) => (error: NodeJS.ErrnoException) => {
  throw error.code === "ENOENT" ? new BlobMissing(name) : error;
};

/** Returns the file's status; undefined if it does not exist. */
const found = (path: string) =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

/** Syncs a file to disk and returns the bytes it occupies. */
async function sync(path: string): Promise<number> {
  const file = await open(path, "r");
  try {
    await file.sync();
    return (await file.stat()).blocks * 512;
  } finally {
    await file.close();
  }
}
