/** Reads the metadata of files over SFTP, and their content with many requests in flight. */
import type { SFTPWrapper } from "ssh2";
import { checkTreePath } from "../../address/tree-path.ts";
import type { CallOptions, Content, Entry, ReadCall } from "../../backend.ts";
import { mapInOrder } from "../../concurrency/window.ts";
import { FolderError, StorageError } from "../../errors.ts";
import { closeFile, openFile, readAt, statHandle, statPath } from "./files.ts";
import { toEntry } from "./list.ts";
import type { Connection, Session } from "./session.ts";

export async function statFile(session: Session, key: string, call: CallOptions): Promise<Entry> {
  if (key !== "") checkTreePath("sftp", key);
  const entry = await session.run(key, call, async (files) => toEntry(key, await statPath(files, key)));
  if (entry.type === "file") return entry;
  throw new FolderError(session.place(key));
}

export function readFile(session: Session, key: string, call: ReadCall): Promise<Content> {
  checkTreePath("sftp", key);
  return session.run(key, call, async (files, connection) => {
    const handle = await openFile(files, key, "r");
    try {
      const entry = toEntry(key, await statHandle(files, handle));
      if (entry.type === "directory") throw new FolderError(session.place(key));
      if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
        throw new StorageError(
          "precondition",
          `${key} was replaced: its ETag is no longer the expected one; read the new file from its start`,
          session.place(key),
        );
      }
      const start = Math.min(call.start ?? 0, entry.size);
      const end = Math.max(start, Math.min(call.end ?? entry.size, entry.size));
      return { entry, start, end, body: pieces({ session, connection, handle, key }, start, end, call.signal) };
    } catch (error) {
      await closeFile(files, handle);
      throw error;
    }
  });
}

const pieceSize = 128 * 1024;
const piecesAtOnce = 16;

interface OpenFile {
  readonly session: Session;
  readonly connection: Connection;
  readonly handle: Buffer;
  readonly key: string;
}

/**
 * Yields the pieces of a file in order. If a piece other than the last is too short, the file was truncated meanwhile.
 */
async function* pieces(
  { session, connection, handle, key }: OpenFile,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* mapInOrder(positions(start, end), piecesAtOnce, async (at) => {
      const target = Buffer.allocUnsafe(Math.min(pieceSize, end - at));
      const count = await session.on(connection, key, { signal }, (files) => readFully(files, handle, target, at));
      return target.subarray(0, count);
    });
  } finally {
    // Errors are ignored: if the connection is lost, there is no handle to close.
    await session.on(connection, key, {}, (files) => closeFile(files, handle)).catch(() => {});
  }
}

function* positions(start: number, end: number): Generator<number> {
  for (let at = start; at < end; at += pieceSize) yield at;
}

async function readFully(files: SFTPWrapper, handle: Buffer, target: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const count = await readAt(files, handle, target.subarray(filled), position + filled);
    if (count === 0) return filled;
    filled += count;
  }
  return filled;
}
