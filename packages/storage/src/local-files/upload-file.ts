/** Uploads a local file: each part is read when its turn comes, into a reused buffer. */
import type { FileHandle } from "node:fs/promises";
import type { Backend, Entry, Upload } from "../backend.ts";
import { runAll } from "../concurrency/window.ts";
import { StorageError } from "../errors.ts";
import type { UploadOptions } from "../options.ts";
import { named } from "../schemes/file/errors.ts";
import { openRegular } from "../schemes/file/read.ts";
import { checkSize, inUpload, partSizes, putWhole } from "../transfer/upload.ts";

/**
 * Maximum size in bytes of a file that is uploaded in one request, and so read into memory whole. A store may accept
 * larger requests, but many files may be in transfer at once.
 */
const mostAtOnce = 8 * 1024 * 1024;

export async function uploadFile(backend: Backend, file: string, key: string, options: UploadOptions): Promise<Entry> {
  const source = await openSource(file);
  try {
    const { size } = source;
    if (size > Math.min(backend.transfer.wholeUpTo, mostAtOnce))
      return await uploadParts(backend, source, key, options);
    return await putWhole(backend, key, await readFully(source, Buffer.allocUnsafeSlow(size), 0), options);
  } finally {
    await source.handle.close();
  }
}

/** An opened local file. If the file grows after it was opened, the new bytes are not read. */
interface SourceFile {
  readonly file: string;
  readonly handle: FileHandle;
  readonly size: number;
}

async function openSource(file: string): Promise<SourceFile> {
  const { handle, entry } = await named(file, () => openRegular(file));
  return { file, handle, size: entry.size };
}

async function uploadParts(backend: Backend, source: SourceFile, key: string, options: UploadOptions): Promise<Entry> {
  const { transfer } = backend;
  const { size } = source;
  checkSize(key, options, size);
  const parts = partsOfFile(source, partSizes(transfer, options, size)(1));
  const width = options.concurrency ?? transfer.concurrency;
  return inUpload(backend, key, { ...options, size }, (put) =>
    transfer.partsInOrder ? putInOrder(parts, put) : putSideBySide(parts, put, width),
  );
}

interface FileParts {
  readonly count: number;
  /** Allocates a buffer of the part size. */
  newBuffer(): Buffer;
  /** Reads a part into a buffer; the last part may not fill it. */
  read(index: number, buffer: Buffer): Promise<Buffer>;
}

const partsOfFile = (source: SourceFile, partSize: number): FileParts => ({
  count: Math.ceil(source.size / partSize),
  newBuffer: () => Buffer.allocUnsafeSlow(partSize),
  read(index, buffer) {
    const start = index * partSize;
    return readFully(source, buffer.subarray(0, Math.min(partSize, source.size - start)), start);
  },
});

async function putSideBySide(parts: FileParts, put: Upload["put"], width: number): Promise<void> {
  const unused: Buffer[] = [];
  await runAll(Array.from({ length: parts.count }).keys(), width, async (index) => {
    const buffer = unused.pop() ?? parts.newBuffer();
    await put(index + 1, await parts.read(index, buffer));
    unused.push(buffer);
  });
}

/** Uploads the parts in order, and reads the next part while one is being sent. */
async function putInOrder(parts: FileParts, put: Upload["put"]): Promise<void> {
  let [current, next] = [parts.newBuffer(), parts.newBuffer()];
  let sending = Promise.resolve();
  for (let index = 0; index < parts.count; index += 1) {
    const bytes = await parts.read(index, current);
    await sending;
    sending = put(index + 1, bytes);
    // If this part fails, the error is thrown by the next part or at the end.
    sending.catch(() => {});
    [current, next] = [next, current];
  }
  await sending;
}

async function readFully({ file, handle }: SourceFile, target: Buffer, position: number): Promise<Buffer> {
  for (let filled = 0; filled < target.length; ) {
    const rest = { offset: filled, length: target.length - filled, position: position + filled };
    const { bytesRead } = await named(file, () => handle.read(target, rest));
    if (bytesRead === 0) {
      throw new StorageError("precondition", `${file} became shorter while it was read; upload it again`, {
        scheme: "file",
        key: file,
      });
    }
    filled += bytesRead;
  }
  return target;
}
