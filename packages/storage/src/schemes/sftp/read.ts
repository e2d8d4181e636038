/** Looking at files over SSH, and reading them with many requests on their way. */
import type { SFTPWrapper } from "ssh2";
import { abortable } from "../../abortable.ts";
import type { CallOptions, Content, Entry, ReadCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { checkTreePath } from "../../tree-path.ts";
import { mapInOrder } from "../../window.ts";
import { toStorageError } from "./errors.ts";
import { closeFile, openFile, readAt, statHandle, statPath } from "./files.ts";
import { toEntry } from "./list.ts";
import type { Session } from "./session.ts";

export async function statFile(session: Session, key: string, call: CallOptions): Promise<Entry> {
  if (key !== "") checkTreePath("sftp", key);
  const entry = await session.run(key, call, async (files) => toEntry(key, await statPath(files, key)));
  if (entry.type === "file") return entry;
  throw new StorageError("not_found", `${key} is a folder`, session.place(key));
}

export function readFile(session: Session, key: string, call: ReadCall): Promise<Content> {
  checkTreePath("sftp", key);
  return session.run(key, call, async (files) => {
    const handle = await openFile(files, key, "r");
    try {
      const entry = toEntry(key, await statHandle(files, handle));
      if (entry.type === "directory") throw new StorageError("not_found", `${key} is a folder`, session.place(key));
      if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
        throw new StorageError("precondition", `${key} was replaced`, session.place(key));
      }
      const start = Math.min(call.start ?? 0, entry.size);
      const end = Math.max(start, Math.min(call.end ?? entry.size, entry.size));
      return { entry, start, end, body: pieces(session, files, handle, key, start, end, call.signal) };
    } catch (error) {
      await closeFile(files, handle);
      throw error;
    }
  });
}

const pieceSize = 128 * 1024;
const piecesAtOnce = 16;

/** A short piece in the middle is where the file was cut meanwhile. */
async function* pieces(
  session: Session,
  files: SFTPWrapper,
  handle: Buffer,
  key: string,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* mapInOrder(positions(start, end), piecesAtOnce, async (at) => {
      const target = Buffer.allocUnsafe(Math.min(pieceSize, end - at));
      return target.subarray(0, await session.once(key, { signal }, () => readFully(files, handle, target, at)));
    });
  } catch (error) {
    throw signal?.aborted ? signal.reason : toStorageError(error, session.place(key));
  } finally {
    // Where the connection is gone the handle is, too.
    await abortable(closeFile(files, handle), AbortSignal.timeout(10_000)).catch(() => {});
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
