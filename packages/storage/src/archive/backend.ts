/**
 * The read-only backend of archives. Each format supplies two functions: one reads the directory, the other the bytes
 * of a member.
 */
import type { Backend, CallOptions, Content, Entry, ListCall, ReadCall } from "../backend.ts";
import { abortable } from "../concurrency/abortable.ts";
import { directoryEntry } from "../entry.ts";
import { isStorageError, StorageError } from "../errors.ts";
import { compareKeys } from "../listing/key-order.ts";
import { sequentialTransfer } from "../transfer/sequential-upload.ts";
import { type Member, type Members, memberEntry } from "./member.ts";
import { ArchiveSource, type Outer, type Range } from "./outer.ts";

export interface ArchiveFormat<M extends Member> {
  readonly scheme: string;
  readMembers(source: ArchiveSource): Promise<Members<M>>;
  readMember(source: ArchiveSource, key: string, member: M, range: Range): AsyncIterable<Uint8Array>;
}

interface Directory<M extends Member> {
  readonly source: ArchiveSource;
  readonly members: Members<M>;
  readonly keys: readonly string[];
}

export function archiveBackend<M extends Member>(format: ArchiveFormat<M>, outer: Outer): Backend {
  const archive = new Archive(format, outer);
  const refuse = async () => {
    throw new StorageError(
      "unsupported",
      `${format.scheme}:// is read-only: files in an archive can be read, but not written or removed`,
      { scheme: format.scheme },
    );
  };
  return {
    // The outer storage already retries.
    transfer: sequentialTransfer({ attempts: 1, firstPause: 0, growth: 1, longestPause: 0 }),
    list: (prefix, call) => archive.list(prefix, call),
    stat: (key, call) => archive.stat(key, call),
    read: (key, call) => archive.read(key, call),
    put: refuse,
    upload: refuse,
    remove: refuse,
    close: () => outer.backend.close(),
  };
}

class Archive<M extends Member> {
  readonly #format: ArchiveFormat<M>;
  readonly #outer: Outer;
  #directory: Promise<Directory<M>> | undefined;

  constructor(format: ArchiveFormat<M>, outer: Outer) {
    this.#format = format;
    this.#outer = outer;
  }

  async stat(key: string, call: CallOptions): Promise<Entry> {
    const { members } = await this.#current(call);
    return memberEntry(key, this.#find(members, key));
  }

  async *list(prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
    call.signal?.throwIfAborted();
    const { delimiter, startAfter } = call;
    const { keys, members } = await this.#current(call);
    const page = new Map<string, Entry>();
    for (const key of keys) {
      if (!key.startsWith(prefix) || (startAfter !== undefined && compareKeys(key, startAfter) <= 0)) continue;
      const end = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
      const path = end < 0 ? key : key.slice(0, end + (delimiter as string).length);
      page.set(path, end < 0 ? memberEntry(key, members.get(key) as M) : directoryEntry(path));
    }
    yield [...page.values()];
  }

  /**
   * Reads a member at the offset that the cached directory states. The read requires the ETag that the archive had when
   * its directory was read. If the archive was replaced meanwhile, the read fails, and the next call reads the new
   * directory.
   */
  async read(key: string, call: ReadCall): Promise<Content> {
    const known = await abortable(this.#known(), call.signal);
    const directory = known.members.has(key) ? known : await this.#current(call);
    const member = this.#find(directory.members, key);
    if (member.refusal !== undefined) throw this.#error("unsupported", key, member.refusal);
    if (call.ifMatch !== undefined && call.ifMatch !== member.etag)
      throw this.#error(
        "precondition",
        key,
        "the file was replaced: its ETag is no longer the expected one; read the new file from its start",
      );
    const start = Math.min(call.start ?? 0, member.size);
    const end = Math.max(start, Math.min(call.end ?? member.size, member.size));
    const body = this.#body(directory, key, member, { start, end, signal: call.signal });
    return { entry: memberEntry(key, member), start, end, body };
  }

  async *#body({ source }: Directory<M>, key: string, member: M, range: Range): AsyncGenerator<Uint8Array> {
    try {
      if (range.start < range.end) yield* this.#format.readMember(source, key, member, range);
    } catch (error) {
      if (isStorageError(error, "precondition")) this.#directory = undefined;
      range.signal?.throwIfAborted();
      if (isStorageError(error)) throw error;
      throw this.#error("failed", key, `the file is damaged: ${(error as Error).message}`);
    }
  }

  #known(): Promise<Directory<M>> {
    this.#directory ??= ArchiveSource.look(this.#outer, {}).then((source) => this.#read(source));
    const directory = this.#directory;
    directory.catch(() => this.#forget(directory));
    return directory;
  }

  /** Returns the directory. If the archive has changed, reads the directory again first. */
  async #current(call: CallOptions): Promise<Directory<M>> {
    const now = await ArchiveSource.look(this.#outer, call);
    const known = this.#directory;
    const directory = await abortable(known ?? this.#known(), call.signal);
    if (directory.source.isSameAs(now)) return directory;
    this.#forget(known);
    return abortable(this.#known(), call.signal);
  }

  #forget(directory: Promise<Directory<M>> | undefined): void {
    if (this.#directory === directory) this.#directory = undefined;
  }

  async #read(source: ArchiveSource): Promise<Directory<M>> {
    const members = await this.#format.readMembers(source);
    return { source, members, keys: [...members.keys()].sort(compareKeys) };
  }

  #find(members: Members<M>, key: string): M {
    const member = members.get(key);
    if (member) return member;
    throw this.#error("not_found", key, "the archive has no such file");
  }

  #error(code: "not_found" | "precondition" | "unsupported" | "failed", key: string, why: string): StorageError {
    const { scheme } = this.#format;
    return new StorageError(code, `${scheme}://${key}::${this.#outer.uri}: ${why}`, { scheme, key });
  }
}
