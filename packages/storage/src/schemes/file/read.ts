/** Reads a file's metadata and content. */
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import type { ByteRange, CallOptions, Content, Entry, ReadCall } from "../../backend.ts";
import { FolderError, StorageError } from "../../errors.ts";
import { named, toStorageError } from "./errors.ts";
import { checkPath } from "./path.ts";

export async function statFile(key: string, { signal }: CallOptions): Promise<Entry> {
  signal?.throwIfAborted();
  return named(key, async () => toEntry(checkPath(key), await stat(key)));
}

/** Makes the entry of a regular file. Throws `not_found` for a folder, because folders appear only in listings. */
function toEntry(key: string, stats: Stats): Entry {
  if (stats.isDirectory()) throw new FolderError({ scheme: "file", key });
  if (!stats.isFile()) {
    const message = `${key} is ${kindOf(stats)}, not a regular file: copy its content into a file first`;
    throw new StorageError("invalid", message, { scheme: "file", key });
  }
  return {
    path: key,
    size: stats.size,
    etag: `${stats.mtimeMs.toString(16)}-${stats.size.toString(16)}`,
    version: "",
    is_latest: true,
    last_modified: stats.mtime,
    type: "file",
  };
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/**
 * Opens a file for reading. Throws if it is not a regular file. Never blocks, unlike a plain open of a named pipe,
 * which waits for a writer.
 */
export async function openRegular(file: string): Promise<{ handle: FileHandle; entry: Entry }> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(async (error) => {
    // ENXIO means that the path is not a file, but for example a socket. `toEntry` then throws an error that says so.
    if (error.code === "ENXIO") toEntry(file, await stat(file));
    throw error;
  });
  try {
    return { handle, entry: toEntry(file, await handle.stat()) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export async function readFile(key: string, call: ReadCall): Promise<Content> {
  call.signal?.throwIfAborted();
  const { handle, entry } = await named(key, () => openRegular(checkPath(key)));
  try {
    if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
      throw new StorageError(
        "precondition",
        `${key} was replaced: its ETag is no longer the expected one; read the new file from its start`,
        {
          scheme: "file",
          key,
        },
      );
    }
    const start = Math.min(call.start ?? 0, entry.size);
    const end = Math.max(start, Math.min(call.end ?? entry.size, entry.size));
    return { entry, start, end, body: pieces(handle, key, { start, end }, call) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const pieceSize = 256 * 1024;

async function* pieces(
  handle: FileHandle,
  key: string,
  { start, end }: ByteRange,
  { signal }: CallOptions,
): AsyncGenerator<Uint8Array> {
  try {
    for (let at = start; at < end; ) {
      signal?.throwIfAborted();
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(pieceSize, end - at)), {
        position: at,
      });
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw toStorageError(error, key);
  } finally {
    await handle.close();
  }
}
