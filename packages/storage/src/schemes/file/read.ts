/** Looking at a file, and reading it. */
import type { Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import type { CallOptions, Content, Entry, ReadCall } from "../../backend.ts";
import { FolderError, StorageError } from "../../errors.ts";
import { named, toStorageError } from "./errors.ts";
import { checkPath } from "./path.ts";

export async function statFile(key: string, { signal }: CallOptions): Promise<Entry> {
  signal?.throwIfAborted();
  return named(key, async () => toEntry(checkPath(key), await stat(key)));
}

/** Folders are not found as files; whoever asks for one gets it from the listing. */
function toEntry(key: string, stats: Stats): Entry {
  if (stats.isDirectory()) throw new FolderError({ scheme: "file", key });
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

export async function readFile(key: string, call: ReadCall): Promise<Content> {
  call.signal?.throwIfAborted();
  const handle = await named(key, () => open(checkPath(key)));
  try {
    const entry = await named(key, async () => toEntry(key, await handle.stat()));
    if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
      throw new StorageError("precondition", `${key} was replaced`, { scheme: "file", key });
    }
    const start = Math.min(call.start ?? 0, entry.size);
    const end = Math.max(start, Math.min(call.end ?? entry.size, entry.size));
    return { entry, start, end, body: pieces(handle, key, start, end, call.signal) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const pieceSize = 256 * 1024;

async function* pieces(
  handle: FileHandle,
  key: string,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
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
