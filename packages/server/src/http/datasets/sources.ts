/** HTTP routes for sources: lists folders of this machine that jobs may use. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, opendir, readlink, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { ApiError, invalid, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { Turns } from "../../turns/turns.ts";
import type { DatasetContext } from "../requests/context.ts";
import { packedTime } from "../requests/message-pack.ts";
import { MessagePack, register } from "../requests/route.ts";

/** Maximum number of entries in one answer. */
const most = 10_000;

/**
 * Listings under way, at most two of one caller, because each holds all its entries in memory. One that takes long waits
 * for a slow disk, and others need not wait with it.
 */
const listings = new Turns(4, 2, 10_000);

export function sourceRoutes(app: FastifyInstance, context: DatasetContext): void {
  register(app, context, routes.listSource, ({ body, principal }) =>
    withFolderOf(principal.userId, "source", body.source, context.jobPaths, async (entries) => {
      return new MessagePack({ data: entries.map(packed) });
    }),
  );
}

const packed = ({ name, modified, size }: FoundEntry) => ({
  name,
  dir_type: size === null ? 1 : 0,
  last_modified: modified && packedTime(modified),
  size,
});

/**
 * Lists a file:// URI inside the folders that jobs may use, when it is this caller's turn, and calls `use` with its
 * entries. `field` is the name of the URI in the request.
 */
export const withFolderOf = <T>(
  caller: number,
  field: string,
  uri: string,
  jobPaths: readonly string[],
  use: (entries: FoundEntry[]) => Promise<T>,
): Promise<T> => listings.run(async () => use(await listFolderOf(field, uri, jobPaths)), caller);

async function listFolderOf(field: string, uri: string, jobPaths: readonly string[]): Promise<FoundEntry[]> {
  const path = readSource(field, uri, jobPaths);
  const folders = (await Promise.all(jobPaths.map((folder) => realpath(folder).catch(() => [])))).flat();
  return listPath(field, path, (real) => isBelow(real, folders));
}

const isBelow = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`));

function readSource(field: string, source: string, folders: readonly string[]): string {
  const possible =
    folders.length > 0
      ? `a folder below ${folders.map((folder) => `file://${folder}`).join(", ")}`
      : "a file:// folder that jobs may use (jobs may use none until the operator sets MILLRACE_JOB_PATHS)";
  const [, path] = /^file:\/\/(\/.*)$/s.exec(source) ?? [];
  if (path === undefined || path.includes("\0")) throw invalid(field, possible, source);
  return path;
}

/** A file, or a folder, which has neither size nor time. */
export interface FoundEntry {
  readonly name: string;
  readonly modified: Date | null;
  readonly size: number | null;
}

/** The flag O_PATH of Linux, which refers to a file without opening it, so that devices and pipes are not touched. */
const holdOnly = 0o10000000;

/**
 * Lists a file or folder. Checks the real path after opening it, because a job may replace a folder with a link at any
 * moment. A path outside the allowed folders gives the same error as a path that does not exist.
 */
async function listPath(field: string, path: string, isAllowed: (real: string) => boolean): Promise<FoundEntry[]> {
  const wanted = await realpath(path).catch(() => undefined);
  if (!wanted || !isAllowed(wanted)) throw nothingAt(path);
  const opened = await open(wanted, holdOnly | constants.O_NOFOLLOW).catch(() => undefined);
  try {
    const real = opened && (await readlink(`/proc/self/fd/${opened.fd}`));
    if (!opened || !real || !isAllowed(real)) throw nothingAt(path);
    const stats = await opened.stat();
    if (stats.isFile()) return [fileEntry(basename(path), stats)];
    if (!stats.isDirectory()) throw nothingAt(path);
    return await listFolder(field, opened, path, isAllowed);
  } finally {
    await opened?.close();
  }
}

const nothingAt = (path: string) =>
  new ApiError("not_found", `There is no file or folder at file://${path} that jobs may use.`);

async function listFolder(
  field: string,
  folder: FileHandle,
  path: string,
  isAllowed: (real: string) => boolean,
): Promise<FoundEntry[]> {
  const inside = `/proc/self/fd/${folder.fd}`;
  const opened = await opendir(inside).catch(() => undefined);
  if (!opened) throw nothingAt(path);
  const names: string[] = [];
  for await (const { name } of opened) {
    names.push(name);
    if (names.length > most)
      throw new ApiError(
        "invalid",
        `${field}: expected a folder with at most ${most} entries, but file://${path} has more`,
      );
  }
  const entries: FoundEntry[] = [];
  for (const name of names.sort()) {
    const stats = await lstat(join(inside, name)).catch(() => undefined);
    if (stats?.isFile()) entries.push(fileEntry(name, stats));
    else if (stats?.isDirectory()) entries.push({ name, modified: null, size: null });
    else if (stats?.isSymbolicLink()) entries.push(...(await linked(join(inside, name), name, isAllowed)));
  }
  return entries;
}

/**
 * Returns the entry of the file or folder that a symbolic link points to, as a list. The list is empty if the target is
 * outside the allowed folders or does not exist.
 */
async function linked(path: string, name: string, isAllowed: (real: string) => boolean): Promise<FoundEntry[]> {
  const real = await realpath(path).catch(() => undefined);
  const stats = real && isAllowed(real) ? await lstat(real).catch(() => undefined) : undefined;
  if (stats?.isFile()) return [fileEntry(name, stats)];
  return stats?.isDirectory() ? [{ name, modified: null, size: null }] : [];
}

const fileEntry = (name: string, { mtime, size }: { mtime: Date; size: number }): FoundEntry => ({
  name,
  modified: mtime,
  size,
});
