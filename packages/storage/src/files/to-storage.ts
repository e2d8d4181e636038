/** Exports files to another storage. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { afterScheme, schemeOf } from "../address/uri.ts";
import type { CallOptions } from "../backend.ts";
import type { ClientConfigFor } from "../client-configs.ts";
import { runAll } from "../concurrency/window.ts";
import { checkChoice } from "../configuration/choice.ts";
import { isStorageError, StorageError } from "../errors.ts";
import { openStorage } from "../open.ts";
import type { Bytes, CopyFromOptions, ReadOptions } from "../options.ts";
import type { Storage } from "../storage.ts";
import type { FileRecord } from "./file-record.ts";
import { type LinkType, linkTypes, tryLink } from "./link.ts";
import { checkPath, type Placement, placements, placeOf } from "./placement.ts";

const checksums = ["sha256", "sha512", "sha1", "md5"] as const;

export interface ToStorageOptions<Uri extends string = string> extends CallOptions {
  readonly client_config?: ClientConfigFor<Uri>;
  /** How the files are named in the target; `fullpath` by default. */
  readonly placement?: Placement;
  /**
   * Whether a local file is linked or copied to a local target; `copy` by default. If a link is not possible, copies.
   */
  readonly link_type?: LinkType;
  /** The algorithm for the placement `checksum`; `sha256` by default. */
  readonly checksum?: (typeof checksums)[number];
  /** Maximum number of files transferred at once; 8 by default. */
  readonly concurrency?: number;
  /** Called after every transferred piece of a file and after every file. */
  readonly onProgress?: (progress: ExportProgress) => void;
}

export interface ExportProgress {
  /** Path of the file that made progress, relative to its source. */
  readonly path: string;
  readonly done_files: number;
  readonly total_files: number;
  readonly done_bytes: number;
  readonly total_bytes: number;
}

/** The parts of a listed file that an export needs. */
export interface ExportableFile extends FileRecord {
  readonly uri: string;
  readStream(options?: Pick<ReadOptions, "signal">): ReadableStream<Bytes>;
  copyTo(target: Storage, path: string, options?: Pick<CopyFromOptions, "signal" | "onBytes">): Promise<void>;
}

export interface ExportedFile<File extends ExportableFile = ExportableFile> {
  readonly file: File;
  /** Path relative to the target. */
  readonly path: string;
  readonly how: LinkType;
}

/**
 * Exports files to a storage. Determines all names that do not depend on content before the first file is written, and
 * throws if two files have the same name. If the target supports batches, the whole export is one batch.
 */
export async function toStorage<Uri extends string, File extends ExportableFile>(
  files: AsyncIterable<File> | Iterable<File>,
  uri: Uri,
  given: ToStorageOptions<Uri> = {},
): Promise<ExportedFile<File>[]> {
  const options = given as ToStorageOptions;
  checkOptions(options);
  const target = openStorage<string>(uri, options.client_config);
  try {
    const chosen = await Array.fromAsync(files);
    for (const file of chosen) checkPath(file);
    const call = { signal: options.signal, message: "Export" };
    return await target.batch((batch) => exportAll(chosen, batch, options), call);
  } finally {
    await target.close();
  }
}

function checkOptions({ placement, link_type, checksum }: ToStorageOptions): void {
  if (placement !== undefined) checkChoice("placement", placement, placements);
  if (link_type !== undefined) checkChoice("link_type", link_type, linkTypes);
  if (checksum !== undefined) checkChoice("checksum", checksum, checksums);
}

async function exportAll<File extends ExportableFile>(
  files: readonly File[],
  target: Storage,
  options: ToStorageOptions,
): Promise<ExportedFile<File>[]> {
  const jobs = await planExport(files, options);
  const count = countProgress(files, options);
  const exported: ExportedFile<File>[] = [];
  await runAll(jobs, options.concurrency ?? 8, async ({ file, place }) => {
    const path = await place();
    const how = await exportFile(file, { target, path }, options, (bytes) => count(file.path, bytes, 0));
    count(file.path, 0, 1);
    exported.push({ file, path, how });
  });
  return exported;
}

interface Job<File> {
  readonly file: File;
  readonly place: () => Promise<string>;
}

/**
 * Determines the names in advance and throws if two files have the same name. Names that depend on content (checksum,
 * etag) are determined when the file is written, without this check. If two files have the same checksum or ETag as
 * their name, they have the same content, so it does not matter which of them is kept.
 */
async function planExport<File extends ExportableFile>(
  files: readonly File[],
  options: ToStorageOptions,
): Promise<Job<File>[]> {
  const { placement = "fullpath" } = options;
  if (placement === "checksum" || placement === "etag") {
    return files.map((file) => ({ file, place: () => placeOf(file, placement, () => digestOf(file, options)) }));
  }
  const taken = new Map<string, File>();
  const jobs: Job<File>[] = [];
  for (const file of files) {
    const path = await placeOf(file, placement, () => digestOf(file, options));
    const other = taken.get(path);
    if (other)
      throw new StorageError(
        "invalid",
        `${other.uri} and ${file.uri} would both be written to ${path}; choose another placement`,
      );
    taken.set(path, file);
    jobs.push({ file, place: async () => path });
  }
  return jobs;
}

async function digestOf(file: ExportableFile, { checksum = "sha256", signal }: ToStorageOptions): Promise<string> {
  const hash = createHash(checksum);
  for await (const piece of file.readStream({ signal })) hash.update(piece);
  return hash.digest("hex");
}

function countProgress(files: readonly ExportableFile[], { onProgress }: ToStorageOptions) {
  const total_bytes = files.reduce((sum, { size }) => sum + size, 0);
  let done_files = 0;
  let done_bytes = 0;
  return (path: string, bytes: number, ended: number) => {
    done_files += ended;
    done_bytes += bytes;
    onProgress?.({ path, done_files, total_files: files.length, done_bytes, total_bytes });
  };
}

/** Where an exported file is written. */
interface Destination {
  readonly target: Storage;
  /** Path relative to the target. */
  readonly path: string;
}

async function exportFile(
  file: ExportableFile,
  destination: Destination,
  options: ToStorageOptions,
  count: (bytes: number) => void,
): Promise<LinkType> {
  const { target, path } = destination;
  const { link_type = "copy", signal } = options;
  signal?.throwIfAborted();
  if (await isThere(file, destination, options)) {
    count(file.size);
    return "copy";
  }
  if (link_type !== "copy" && schemeOf(file.source) === "file" && target.scheme === "file") {
    if (await tryLink(link_type, resolve(afterScheme(file.uri)), resolve(afterScheme(target.uri), path))) {
      count(file.size);
      return link_type;
    }
  }
  await file.copyTo(target, path, { signal, onBytes: count });
  return "copy";
}

/**
 * Whether the target already has this file, so that it need not be written again. If the name is derived from the
 * content, a file of the same name and size counts as the same. For all other names, returns false.
 */
async function isThere(
  file: ExportableFile,
  { target, path }: Destination,
  { placement, signal }: ToStorageOptions,
): Promise<boolean> {
  if (placement !== "checksum" && placement !== "etag") return false;
  try {
    return (await target.stat(path, { signal })).size === file.size;
  } catch (error) {
    if (isStorageError(error, "not_found")) return false;
    throw error;
  }
}
