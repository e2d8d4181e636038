/**
 * Blobs at a storage URI. Jobs need local files, so a blob is first downloaded to a folder of cached copies. If a copy
 * is lost, the blob is downloaded again.
 */
import { randomUUID } from "node:crypto";
import { access, chmod, lstat, mkdir, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { isStorageError, type Storage } from "@millrace/storage";
import { Turns } from "../turns/turns.ts";
import { ownerName } from "./blob-names.ts";
import {
  type BlobEntry,
  BlobMissing,
  type Blobs,
  BlobsUnavailable,
  type Copy,
  checkFolder,
  checkName,
  draftEnd,
  type FetchOptions,
  type Measured,
  Meter,
  type OpenBlob,
  type PutOptions,
} from "./blobs.ts";
import { type Limits, Patience, usualLimits } from "./patience.ts";

/**
 * Maximum number of large files that are sent to the storage at the same time; each has a few parts in memory. Small
 * files have as many places of their own, because a large one keeps its place for as long as the whole file takes.
 */
const sentAtOnce = 6;
/** Files up to this size are small. */
const smallBytes = 8 * 1024 * 1024;
/** Maximum of one owner, so that others need not wait for a team that uploads many files. */
const sentOfOneOwner = 3;

/** Number of bytes that a read requests in advance, because logs are read sequentially. */
const readAhead = 256 * 1024;

/** Paths on this machine that belong to blobs at a URI. */
export interface LocalFiles {
  /** Folder for cached copies of blobs. */
  readonly copies: string;
  /**
   * Path of a local file that contains the URI. The file exists once this server has written its owner blob to that
   * URI.
   */
  readonly mark: string;
}

export class UriBlobs implements Blobs {
  readonly isLocal = false;
  readonly #storage: Storage;
  readonly #copies: string;
  readonly #mark: string;
  readonly #fetching = new Map<string, Promise<string>>();
  readonly #closing = new AbortController();
  readonly #patience: Patience;
  readonly #sending = {
    small: new Turns(sentAtOnce, sentOfOneOwner),
    large: new Turns(sentAtOnce, sentOfOneOwner),
  };

  constructor(storage: Storage, { copies, mark }: LocalFiles, limits: Limits = usualLimits) {
    this.#patience = new Patience(this.#closing.signal, limits);
    this.#storage = storage;
    this.#copies = copies;
    this.#mark = mark;
  }

  /**
   * The content first goes to a local file: a part that waits for a slow caller or a slow storage would stay in memory,
   * and there may be hundreds of callers.
   */
  async put(name: string, content: AsyncIterable<Uint8Array>, { limit, owner }: PutOptions = {}): Promise<Measured> {
    const meter = new Meter(content, limit);
    await this.#store(name, owner, (draft) => writeFile(draft, meter.bytes(), { mode: 0o600 }));
    return meter.measured();
  }

  make(name: string, write: (path: string) => Promise<void>): Promise<number> {
    return this.#store(name, undefined, write);
  }

  /** Stores the file that `write` creates, and returns its size. */
  async #store(name: string, owner: unknown, write: (path: string) => Promise<void>): Promise<number> {
    checkName(name);
    const draft = await this.#draft();
    try {
      await write(draft);
      const { size } = await lstat(draft);
      const send = () => this.#patience.progress((options) => this.#storage.upload(draft, name, options));
      await this.#sending[size <= smallBytes ? "small" : "large"].run(send, owner).catch(rethrow);
      await this.#requireStored(name, size);
      return size;
    } finally {
      await rm(draft, { force: true });
    }
  }

  /**
   * Throws if the storage does not have the file. The caller deletes the only other copy, and something in between, such
   * as the login page of a proxy, may answer 200 to everything.
   */
  async #requireStored(name: string, size: number): Promise<void> {
    const stored = await this.#patience
      .answer((options) => this.#storage.stat(name, options))
      .catch((error) => (isStorageError(error, "not_found") ? undefined : rethrow(error)));
    if (stored?.size === size) return;
    const found = stored ? `${stored.size} bytes of it` : "nothing under this name";
    throw new BlobsUnavailable(
      new Error(`the storage confirmed that it stored ${name} of ${size} bytes, but it has ${found}`),
    );
  }

  async open(name: string): Promise<OpenBlob> {
    const how = { cache_type: "readahead", block_size: readAhead } as const;
    const file = await this.#ask(name, () =>
      this.#patience.answer((options) => this.#storage.open(checkName(name), { ...how, ...options })),
    );
    if (file.size === 0) await this.#requireOwner();
    const read = (offset: number, length: number) =>
      this.#patience.answer((options) => file.read(offset, length, options)).catch(this.#explain(name));
    return {
      size: file.size,
      read: async (offset, length) => Buffer.from(await read(offset, length)),
      stream: () => Readable.from(this.#pieces(name, () => file.close())),
      close: () => file.close(),
    };
  }

  async *#pieces(name: string, close: () => Promise<void>): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#patience.arriving((options) => this.#storage.readStream(name, options));
    } catch (error) {
      throw unavailable(error);
    } finally {
      await close();
    }
  }

  async size(name: string): Promise<number | undefined> {
    try {
      return (await this.#stat(name)).size;
    } catch (error) {
      if (error instanceof BlobMissing) return undefined;
      throw error;
    }
  }

  #stat = (name: string) =>
    this.#ask(name, () => this.#patience.answer((options) => this.#storage.stat(checkName(name), options)));

  async remove(name: string): Promise<void> {
    await this.#patience.answer((options) => this.#storage.remove(checkName(name), options)).catch(rethrow);
  }

  async *list(folder: string): AsyncGenerator<BlobEntry> {
    try {
      const all = { prefix: checkFolder(folder), recursive: true };
      for await (const entry of this.#patience.arriving((options) => this.#storage.list({ ...all, ...options }))) {
        if (entry.type === "file")
          yield { name: entry.path, size: entry.size, modifiedAt: entry.last_modified?.getTime() ?? Date.now() };
      }
    } catch (error) {
      // On a storage with real folders, the folder does not exist before the first blob.
      if (!isStorageError(error, "not_found")) throw unavailable(error);
    }
  }

  /** Downloads a blob to a local file and returns its path. Concurrent calls share one download. */
  async fetch(name: string, options: FetchOptions = {}): Promise<string> {
    const underWay = this.#fetching.get(checkName(name));
    if (underWay) return underWay;
    const fetching = this.#fetch(name, options).finally(() => this.#fetching.delete(name));
    this.#fetching.set(name, fetching);
    return fetching;
  }

  #copy(name: string): string {
    return join(this.#copies, checkName(name).replaceAll("/", "_"));
  }

  async copyOf(name: string): Promise<string | undefined> {
    const path = this.#copy(name);
    // A new modification time marks the copy as used, so that `tidy` keeps it.
    const now = new Date();
    return utimes(path, now, now).then(
      () => path,
      () => undefined,
    );
  }

  async #fetch(name: string, options: FetchOptions): Promise<string> {
    const here = await this.copyOf(name);
    if (here !== undefined) return here;
    const path = this.#copy(name);
    const draft = await this.#draft();
    try {
      await this.#download(name, draft, options);
      // Readable by everyone, because a job gets a hard link to this file.
      await chmod(draft, 0o444);
      await rename(draft, path);
      return path;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async #download(name: string, draft: string, { atMost, size }: FetchOptions): Promise<void> {
    const late = atMost === undefined ? undefined : AbortSignal.timeout(atMost);
    const signal = late ? AbortSignal.any([this.#closing.signal, late]) : this.#closing.signal;
    try {
      await this.#storage.download(name, draft, { signal });
    } catch (error) {
      if (late?.aborted)
        throw new BlobsUnavailable(new Error(`the download of ${name} took longer than ${atMost} milliseconds`));
      if (!isStorageError(error, "not_found")) throw unavailable(error);
      await this.#stat(name);
      throw new BlobsUnavailable(new Error(`the storage did not find ${name} at first, and finds it now`));
    }
    const { size: found } = await lstat(draft);
    if (size !== undefined && found !== size)
      throw new BlobsUnavailable(
        new Error(`the storage returned ${found} bytes for ${name} instead of the ${size} bytes that were stored`),
      );
  }

  #explain(name: string) {
    return async (error: unknown): Promise<never> => {
      throw await this.#reason(name, error);
    };
  }

  /**
   * Returns the error for a failed read: BlobMissing or BlobsUnavailable. If the blob with the id of the storage's
   * owner is missing too, the URI probably leads to the wrong bucket, or the bucket is not mounted. The storage then
   * counts as unavailable.
   */
  async #reason(name: string, error: unknown): Promise<unknown> {
    if (!isStorageError(error, "not_found")) return unavailable(error);
    if (!(await exists(this.#mark))) return new BlobMissing(name);
    try {
      await this.#patience.answer((options) => this.#storage.stat(ownerName, options));
    } catch (failure) {
      return isStorageError(failure, "not_found") ? new BlobsUnavailable(new Error(noOwner)) : unavailable(failure);
    }
    return new BlobMissing(name);
  }

  /**
   * Asks about a blob, and once more if it is missing: the storage may have been away at the first question and back at
   * the one about its owner, or the blob may have been stored in between.
   */
  async #ask<T>(name: string, question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      const reason = await this.#reason(name, error);
      if (!(reason instanceof BlobMissing)) throw reason;
      return question().catch((again) => {
        throw isStorageError(again, "not_found") ? reason : unavailable(again);
      });
    }
  }

  /**
   * Throws if the blob with the id of the storage's owner is empty, too: then something else than the storage answers,
   * and an empty blob is no empty file.
   */
  async #requireOwner(): Promise<void> {
    if (!(await exists(this.#mark))) return;
    const { size } = await this.#patience
      .answer((options) => this.#storage.stat(ownerName, options))
      .catch(this.#explain(ownerName));
    if (size === 0) throw new BlobsUnavailable(new Error(emptyOwner));
  }

  async copies(): Promise<Copy[]> {
    const names = (await readdir(this.#copies).catch(() => [])).filter((name) => !name.endsWith(draftEnd));
    const found = await Promise.all(names.map((name) => lstat(join(this.#copies, name)).catch(() => undefined)));
    return names.flatMap((name, index) => {
      const file = found[index];
      return file ? [{ name, size: file.blocks * 512, usedAt: file.mtimeMs, isLinked: file.nlink > 1 }] : [];
    });
  }

  async removeCopy(name: string): Promise<void> {
    await rm(join(this.#copies, basename(name)), { force: true });
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

  close(): Promise<void> {
    this.#closing.abort(new BlobsUnavailable(new Error("the server is stopping")));
    return this.#storage.close();
  }
}

/**
 * Converts a storage error to BlobsUnavailable. Returns other errors unchanged. If the local disk is full, which is not
 * the storage's fault, returns the error of the file system.
 */
function unavailable(error: unknown): unknown {
  if (!isStorageError(error)) return error;
  const { code, syscall } = (error.cause ?? {}) as { code?: string; syscall?: string };
  return syscall !== undefined && (code === "ENOSPC" || code === "EDQUOT") ? error.cause : new BlobsUnavailable(error);
}

function rethrow(error: unknown): never {
  throw unavailable(error);
}

const noOwner = `the object ${ownerName}, which this server wrote, is missing. The URI may lead to another bucket, or the bucket is not mounted`;

const emptyOwner = `the object ${ownerName}, which this server wrote, is empty. Something else than the storage may answer at this URI`;

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
