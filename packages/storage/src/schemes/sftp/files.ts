/** The SFTP calls that this library uses, as promises. */
import { promisify } from "node:util";
import type { FileEntryWithStats, SFTPWrapper, Stats } from "ssh2";
import { StorageError } from "../../errors.ts";
import { endOfFile, statusOf } from "./errors.ts";

type Handle = Buffer;

/** Returns the absolute path of a key. */
const pathOf = (key: string) => `/${key}`;

export const openFile = (files: SFTPWrapper, key: string, flags: "r" | "wx"): Promise<Handle> =>
  promisify<string, typeof flags, Handle>(files.open.bind(files))(pathOf(key), flags);

export const closeFile = (files: SFTPWrapper, handle: Handle): Promise<void> =>
  promisify<Handle, void>(files.close.bind(files) as never)(handle);

/** Returns the attributes of a file or folder. Follows links. */
export const statPath = (files: SFTPWrapper, key: string): Promise<Stats> =>
  promisify<string, Stats>(files.stat.bind(files))(pathOf(key));

export const statHandle = (files: SFTPWrapper, handle: Handle): Promise<Stats> =>
  promisify<Handle, Stats>(files.fstat.bind(files))(handle);

export const removePath = (files: SFTPWrapper, key: string): Promise<void> =>
  promisify<string, void>(files.unlink.bind(files) as never)(pathOf(key));

export const removeFolder = (files: SFTPWrapper, key: string): Promise<void> =>
  promisify<string, void>(files.rmdir.bind(files) as never)(pathOf(key));

export const makeFolder = (files: SFTPWrapper, key: string): Promise<void> =>
  promisify<string, void>(files.mkdir.bind(files) as never)(pathOf(key));

export const renamePath = (files: SFTPWrapper, from: string, to: string): Promise<void> =>
  promisify<string, string, void>(files.rename.bind(files) as never)(pathOf(from), pathOf(to));

/** Renames a file and atomically replaces an existing one. Not every server supports this. */
export const replacePath = (files: SFTPWrapper, from: string, to: string): Promise<void> =>
  promisify<string, string, void>(files.ext_openssh_rename.bind(files) as never)(pathOf(from), pathOf(to));

/** Reads bytes at a position. Returns how many were read; 0 at the end of the file. */
export function readAt(files: SFTPWrapper, handle: Handle, target: Buffer, position: number): Promise<number> {
  const done = Promise.withResolvers<number>();
  files.read(handle, target, 0, target.length, position, (error, count) => {
    if (error && statusOf(error) !== endOfFile) done.reject(error);
    else done.resolve(error ? 0 : count);
  });
  return done.promise;
}

export function writeAt(files: SFTPWrapper, handle: Handle, bytes: Buffer, position: number): Promise<void> {
  const done = Promise.withResolvers<void>();
  files.write(handle, bytes, 0, bytes.length, position, (error) => (error ? done.reject(error) : done.resolve()));
  return done.promise;
}

export type FoundName = Pick<FileEntryWithStats, "filename" | "attrs">;

/** Maximum number of names that are read from one folder, because a server could send names without end. */
const mostNames = 1_000_000;
/** Maximum total size in bytes of the names in one folder. */
const longestNames = 64 * 1024 * 1024;

/** Reads all names in a folder; the server sends a few at a time. */
export async function readNames(files: SFTPWrapper, folder: string): Promise<FoundName[]> {
  const handle = await promisify<string, Handle>(files.opendir.bind(files))(pathOf(folder));
  const found: FoundName[] = [];
  let length = 0;
  try {
    for (;;) {
      const names = await nextNames(files, handle);
      if (!names) return found;
      for (const { filename, attrs } of names) {
        found.push({ filename, attrs });
        length += filename.length;
      }
      if (found.length > mostNames || length > longestNames) throw tooMany(folder);
    }
  } finally {
    await closeFile(files, handle);
  }
}

async function nextNames(files: SFTPWrapper, handle: Handle): Promise<FileEntryWithStats[] | undefined> {
  try {
    return await promisify<Handle, FileEntryWithStats[]>(files.readdir.bind(files))(handle);
  } catch (error) {
    if (statusOf(error) === endOfFile) return undefined;
    throw error;
  }
}

function tooMany(folder: string): StorageError {
  const bounds = `${mostNames.toLocaleString("en")} names or ${longestNames / 1024 / 1024} MiB of names`;
  return new StorageError(
    "failed",
    `${folder}: the server lists more than ${bounds} in this folder, which is the limit; split the folder`,
    {
      key: folder,
    },
  );
}
