/**
 * Blobs at a storage URI. What a job is given must be a file of this machine, so that it is fetched into a folder of
 * copies first. A copy is a cache: losing it costs a download.
 */
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, readdir, rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { isStorageError, type Storage } from "@millrace/storage";
import {
  type BlobEntry,
  BlobMissing,
  type Blobs,
  BlobsUnavailable,
  checkFolder,
  checkName,
  draftEnd,
  type Measured,
  Meter,
  type OpenBlob,
} from "./blobs.ts";

/** Logs are read in pieces that follow one another. */
const readAhead = 256 * 1024;

export class UriBlobs implements Blobs {
  readonly isLocal = false;
  readonly #storage: Storage;
  /** Where copies are kept on this machine. */
  readonly #copies: string;
  readonly #fetching = new Map<string, Promise<string>>();
  readonly #closing = new AbortController();

  constructor(storage: Storage, copies: string) {
    this.#storage = storage;
    this.#copies = copies;
  }

  async put(
    name: string,
    content: AsyncIterable<Uint8Array>,
    { limit }: { readonly limit?: number } = {},
  ): Promise<Measured> {
    checkName(name);
    const meter = new Meter(content, limit);
    try {
      await this.#storage.write(name, meter.bytes(), this.#call);
    } catch (error) {
      // What was wrong with the content comes back as it was.
      throw meter.failure ?? unavailable(error);
    }
    return meter.measured();
  }

  async make(name: string, write: (path: string) => Promise<void>): Promise<number> {
    checkName(name);
    const draft = await this.#draft();
    try {
      await write(draft);
      const { size } = await this.#storage.upload(draft, name, this.#call).catch(rethrow);
      return size;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async open(name: string): Promise<OpenBlob> {
    const options = { cache_type: "readahead", block_size: readAhead, ...this.#call } as const;
    const file = await this.#storage.open(checkName(name), options).catch(missing(name));
    return {
      size: file.size,
      read: async (offset, length) => Buffer.from(await file.read(offset, length).catch(missing(name))),
      stream: () => Readable.from(this.#pieces(name, () => file.close())),
      close: () => file.close(),
    };
  }

  async *#pieces(name: string, close: () => Promise<void>): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of this.#storage.readStream(name, this.#call)) yield bytes;
    } catch (error) {
      throw unavailable(error);
    } finally {
      await close();
    }
  }

  async size(name: string): Promise<number | undefined> {
    try {
      return (await this.#storage.stat(checkName(name), this.#call)).size;
    } catch (error) {
      if (isStorageError(error, "not_found")) return undefined;
      throw unavailable(error);
    }
  }

  async remove(name: string): Promise<void> {
    await this.#storage.remove(checkName(name), this.#call).catch(rethrow);
  }

  async *list(folder: string): AsyncGenerator<BlobEntry> {
    try {
      for await (const entry of this.#storage.list({ prefix: checkFolder(folder), recursive: true, ...this.#call })) {
        if (entry.type === "file")
          yield { name: entry.path, size: entry.size, modifiedAt: entry.last_modified?.getTime() ?? Date.now() };
      }
    } catch (error) {
      // A storage with folders has none before the first blob.
      if (!isStorageError(error, "not_found")) throw unavailable(error);
    }
  }

  /** Jobs that begin together share one download. */
  async fetch(name: string): Promise<string> {
    const underWay = this.#fetching.get(checkName(name));
    if (underWay) return underWay;
    const fetching = this.#fetch(name).finally(() => this.#fetching.delete(name));
    this.#fetching.set(name, fetching);
    return fetching;
  }

  async #fetch(name: string): Promise<string> {
    const path = join(this.#copies, name.replaceAll("/", "_"));
    // It has just been used: `tidy` leaves it alone.
    const now = new Date();
    const isThere = await utimes(path, now, now).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
    const draft = await this.#draft();
    try {
      await this.#storage.download(name, draft, this.#call).catch(missing(name));
      // Everybody may read it: a job is given it as a second name for the same file.
      await chmod(draft, 0o444);
      await rename(draft, path);
      return path;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async #draft(): Promise<string> {
    await mkdir(this.#copies, { recursive: true, mode: 0o700 });
    return join(this.#copies, `${randomUUID()}${draftEnd}`);
  }

  async tidy({
    leftBefore,
    unusedSince,
  }: {
    readonly leftBefore: number;
    readonly unusedSince: number;
  }): Promise<void> {
    for (const name of await readdir(this.#copies).catch(() => [])) {
      const path = join(this.#copies, name);
      const used = (await lstat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY;
      if (used < (name.endsWith(draftEnd) ? leftBefore : unusedSince)) await rm(path, { force: true });
    }
  }

  /** Calls end with it, however long the storage would take to answer. */
  get #call() {
    return { signal: this.#closing.signal };
  }

  close(): Promise<void> {
    this.#closing.abort(new BlobsUnavailable(new Error("the server stops")));
    return this.#storage.close();
  }
}

/** A full disk of this machine is no fault of the storage. */
function unavailable(error: unknown): unknown {
  if (!isStorageError(error)) return error;
  const { code, syscall } = (error.cause ?? {}) as { code?: string; syscall?: string };
  return syscall !== undefined && (code === "ENOSPC" || code === "EDQUOT") ? error.cause : new BlobsUnavailable(error);
}

function rethrow(error: unknown): never {
  throw unavailable(error);
}

const missing = (name: string) => (error: unknown) => {
  throw isStorageError(error, "not_found") ? new BlobMissing(name) : unavailable(error);
};
