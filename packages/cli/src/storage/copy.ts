/** Copying one file or a tree, from and to whatever storages. */
import { addAbortSignal } from "node:stream";
import type { Entry, Storage } from "@millrace/storage";
import { usageError } from "../errors.ts";
import type { Output } from "../output.ts";
import { type Amount, TransferProgress } from "./progress.ts";
import type { StorageSession } from "./with-storage.ts";

export interface Copy {
  readonly from: string;
  readonly to: string;
  readonly source: Storage;
  readonly target: Storage;
}

export async function copyTree({ library, signal }: StorageSession, copy: Copy, output: Output): Promise<Amount> {
  const progress = new TransferProgress(output, output.showsProgress ? await measure(copy.source, signal) : undefined);
  await library.syncTrees(copy.source, copy.target, {
    all: true,
    signal,
    onBytes: (bytes) => progress.moved(bytes),
    onAction: () => progress.ended(),
  });
  if (progress.done.files > 0) return progress.done;
  const { type } = await copy.source.stat("", { signal });
  if (type === "directory") return progress.done;
  throw usageError(`${copy.from} is a file`, { why: "--recursive copies what lies in a folder", next: "Leave it out" });
}

/** How much there is below a storage. */
export async function measure(storage: Storage, signal: AbortSignal): Promise<Amount> {
  let [files, bytes] = [0, 0];
  for await (const { size } of storage.list({ recursive: true, versions: false, signal })) {
    files += 1;
    bytes += size;
  }
  return { files, bytes };
}

/** FROM `-` is standard input, whose end tells its size. */
export async function copyFile({ signal }: StorageSession, copy: Copy, output: Output): Promise<Amount> {
  const { from, to, source, target } = copy;
  const piped = from === "-";
  const entry = piped ? undefined : await source.stat("", { signal });
  if (entry?.type === "directory") {
    throw usageError(`${from} is a folder`, { next: "Say --recursive to copy what lies in it" });
  }
  const path = await placeBelow(to, target, piped ? undefined : nameOf(from), signal);
  const progress = new TransferProgress(output, isSized(entry) ? { files: 1, bytes: entry.size } : undefined);
  if (piped) {
    // Nobody may be typing: without this, Ctrl-C would wait for the next bytes.
    await target.write(path, counting(addAbortSignal(signal, process.stdin), progress), { signal });
  } else {
    const size = isSized(entry) ? { size: entry.size } : {};
    await target.copyFrom(source, "", path, { ...size, signal, onBytes: (bytes) => progress.moved(bytes) });
  }
  progress.ended();
  return progress.done;
}

/** Web servers do not always tell the size. */
const isSized = (entry: Entry | undefined): entry is Entry => entry !== undefined && Number.isFinite(entry.size);

async function* counting(content: AsyncIterable<Uint8Array>, progress: TransferProgress): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    progress.moved(piece.length);
    yield piece;
  }
}

/** The query of a URL, such as a signature, is no part of a name. */
function nameOf(uri: string): string {
  const path = /^https?:/i.test(uri) ? uri.replace(/[?#].*$/, "") : uri;
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A folder gets the file under its own name. */
async function placeBelow(to: string, target: Storage, name: string | undefined, signal: AbortSignal): Promise<string> {
  const isFolder = to.endsWith("/") || isBucket(to) || (await isDirectory(target, signal));
  if (!isFolder) return "";
  if (name !== undefined) return name;
  throw usageError(`${to} is a folder`, { why: "Standard input has no name", next: "Name the file to write" });
}

const isBucket = (uri: string) => /^(?!file:|local:|memory:)[a-z][a-z0-9+.-]*:\/\/[^/]+$/i.test(uri);

async function isDirectory(target: Storage, signal: AbortSignal): Promise<boolean> {
  return target.stat("", { signal }).then(
    ({ type }) => type === "directory",
    () => false,
  );
}
