/** Writes files over SFTP under a temporary name, and then renames them. */
import type { SFTPWrapper } from "ssh2";
import { checkTreePath, foldersOf, temporaryKey } from "../../address/tree-path.ts";
import type { CallOptions, Entry, Upload, WriteCall } from "../../backend.ts";
import { runAll } from "../../concurrency/window.ts";
import { isStorageError } from "../../errors.ts";
import { putAtOnce } from "../../transfer/sequential-upload.ts";
import { closeFile, makeFolder, openFile, removePath, renamePath, replacePath, writeAt } from "./files.ts";
import { statFile } from "./read.ts";
import type { Connection, Session } from "./session.ts";

export async function putFile(session: Session, key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry> {
  return putAtOnce(await beginUpload(session, key, call), bytes);
}

export async function beginUpload(session: Session, key: string, call: WriteCall): Promise<Upload> {
  checkTreePath("sftp", key);
  const temporary = temporaryKey(key);
  const { handle, connection } = await withFolders(session, key, call, async (files, connection) => ({
    handle: await openFile(files, temporary, "wx"),
    connection,
  }));
  let written = 0;
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await session.on(connection, key, {}, (files) => closeFile(files, handle));
  };
  return {
    async put(_part, bytes) {
      const start = written;
      written += bytes.length;
      await session.on(connection, key, call, (files) => writePieces(files, handle, asBuffer(bytes), start));
    },
    async finish() {
      await close();
      await session.on(connection, key, call, (files) => replace(files, temporary, key));
      return statFile(session, key, call);
    },
    async abort() {
      await close().catch(() => {});
      await session.run(key, {}, (files) => removePath(files, temporary));
    },
  };
}

/**
 * Runs work that writes a file. If the work fails because a folder is missing, creates the parent folders and runs the
 * work again.
 */
export async function withFolders<T>(
  session: Session,
  key: string,
  call: CallOptions,
  work: (files: SFTPWrapper, connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    return await session.run(key, call, work);
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
  // Errors are ignored, because a server also refuses to create a folder that exists. If a folder is really missing,
  // the work fails.
  await session.run(key, call, async (files) => {
    for (const folder of foldersOf(key)) await makeFolder(files, folder).catch(() => {});
  });
  return session.run(key, call, work);
}

const pieceSize = 128 * 1024;
const piecesAtOnce = 16;

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

async function writePieces(files: SFTPWrapper, handle: Buffer, bytes: Buffer, start: number): Promise<void> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceSize) }, (_, index) => index * pieceSize);
  await runAll(pieces, piecesAtOnce, (at) =>
    writeAt(files, handle, bytes.subarray(at, Math.min(at + pieceSize, bytes.length)), start + at),
  );
}

/**
 * Replaces a file, atomically if the server supports that. Otherwise the old file is removed first, so that the file is
 * missing for a moment.
 */
export async function replace(files: SFTPWrapper, from: string, to: string): Promise<void> {
  try {
    await replacePath(files, from, to);
  } catch (error) {
    if (!/does not support/i.test((error as Error).message)) throw error;
    await removePath(files, to).catch(() => {});
    await renamePath(files, from, to);
  }
}
