/** Copies, moves and removes files. Each call makes one commit, however many files it changes. */
import { folderOf } from "../../address/uri.ts";
import type { CallOptions, VersionCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import type { HubClient } from "./client.ts";
import type { Changes, CommitLine } from "./commit.ts";
import { listTree, lookUp, statFile } from "./list.ts";
import { readFile } from "./read.ts";
import { checkPath } from "./repository.ts";
import { inline } from "./write.ts";

export async function copyFile(changes: Changes, from: string, to: string, call: VersionCall): Promise<void> {
  const line = await lineOfCopy(changes.client, from, to, call);
  await changes.make([line], { summary: `Copy ${from} to ${to}`, signal: call.signal });
}

export async function moveFile(changes: Changes, from: string, to: string, call: CallOptions): Promise<void> {
  const line = await lineOfCopy(changes.client, from, to, call);
  const removal = { key: "deletedFile", value: { path: from } } as const;
  await changes.make([line, removal], { summary: `Move ${from} to ${to}`, signal: call.signal });
}

/**
 * Returns the line of a commit that copies a file. An LFS file is copied by reference. A small file, which is stored in
 * git, is downloaded and sent again.
 */
async function lineOfCopy(client: HubClient, from: string, to: string, call: VersionCall): Promise<CommitLine> {
  checkPath(to);
  const item = await lookUp(client, from, call);
  if (item?.lfs) return { key: "lfsFile", value: { path: to, algo: "sha256", oid: item.lfs.oid, size: item.lfs.size } };
  if (item?.type !== "file") await statFile(client, from, call);
  const content = await readFile(client, from, call);
  return inline(to, Buffer.concat(await Array.fromAsync(content.body))).line;
}

export async function removeFile(changes: Changes, key: string, call: VersionCall): Promise<void> {
  refuseVersion(changes.client, key, call);
  changes.forget(key);
  const item = await lookUp(changes.client, key, call);
  if (item?.type !== "file") return;
  await changes.make([{ key: "deletedFile", value: { path: key } }], { summary: `Remove ${key}`, signal: call.signal });
}

/**
 * Removes the file with this key, if there is one, and all files below the key. The commit names each file instead of
 * the folder. So if the same batch writes another file into the folder, that file stays.
 */
export async function removeTree(changes: Changes, key: string, call: VersionCall): Promise<void> {
  refuseVersion(changes.client, key, call);
  if (key !== "") await removeFile(changes, key, call);
  else changes.forget("");
  const lines: CommitLine[] = [];
  for await (const page of listTree(changes.client, folderOf(key), call)) {
    for (const { path } of page) lines.push({ key: "deletedFile", value: { path } });
  }
  if (lines.length > 0) await changes.make(lines, { summary: `Remove ${key || "everything"}`, signal: call.signal });
}

/**
 * Throws if a version is given. A version is a commit, and commits are immutable, so nothing can be removed from it.
 */
function refuseVersion(client: HubClient, key: string, { version }: VersionCall): void {
  if (!version) return;
  throw new StorageError(
    "unsupported",
    `${key}: hf:// cannot remove a file from an old commit; omit the version to remove the file from the newest commit`,
    client.place(key),
  );
}
