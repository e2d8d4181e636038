/** Lists folders of a repository, and looks up single paths. */
import type { CallOptions, Entry, ListCall, VersionCall } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { StorageError } from "../../errors.ts";
import { parseAnswer, parseJson } from "../../http/parse-answer.ts";
import { listFolders } from "../../listing/directory-listing.ts";
import type { HubClient } from "./client.ts";
import { checkPath } from "./repository.ts";

export interface TreeItem {
  readonly type: "file" | "directory";
  readonly path: string;
  readonly oid: string;
  readonly size: number;
  /** Set if the content is stored in LFS. */
  readonly lfs?: { readonly oid: string; readonly size: number };
  readonly lastCommit?: { readonly id: string; readonly date: string };
}

/** Lists the tree of a single commit, even if new commits are added meanwhile. */
export async function* listTree(client: HubClient, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  const revision = call.delimiter === undefined ? await client.head(call) : undefined;
  const read = (folder: string, options: CallOptions) => readFolder(client, folder, revision, options);
  yield* listFolders("hf", read, prefix, call);
}

/**
 * Yields the contents of a folder in pages. Requests expanded entries, because only these contain the last commit of
 * each file and its time.
 */
async function* readFolder(
  client: HubClient,
  folder: string,
  revision: string | undefined,
  { signal }: CallOptions,
): AsyncGenerator<Entry[]> {
  const key = folder.replace(/\/$/, "");
  let url: string | undefined = `${await client.apiUrl("tree", revision, key)}?recursive=false&expand=true`;
  while (url !== undefined) {
    const answer = await client.sendUnlessMissing({ method: "GET", url, key, signal });
    if (!answer) return;
    const items = await parseJson<TreeItem[]>(answer, client.place(key));
    url = client.nextUrl(answer);
    yield parseAnswer(client.place(key), () => items.map(toEntry));
  }
}

/** Returns the file or folder at a path, or undefined if there is none. */
export async function lookUp(client: HubClient, key: string, call: VersionCall): Promise<TreeItem | undefined> {
  const url = await client.apiUrl("paths-info", call.version);
  const [item] = await client.call<TreeItem[]>(url, key, { paths: [checkPath(key)], expand: true }, call);
  return item;
}

export async function statFile(client: HubClient, key: string, call: VersionCall): Promise<Entry> {
  const item = key === "" ? undefined : await lookUp(client, key, call);
  if (item?.type === "file") return toEntry(item);
  const what = item ? "is a folder, not a file" : "does not exist";
  throw new StorageError("not_found", `hf://${client.place(key).bucket}/${key} ${what}`, client.place(key));
}

/**
 * Returns the ETag of a file, a hash of its content: SHA-256 for a file in LFS, otherwise the id of the blob in git.
 */
export const etagOf = ({ lfs, oid }: TreeItem) => lfs?.oid ?? oid;

function toEntry(item: TreeItem): Entry {
  if (item.type === "directory") return directoryEntry(`${item.path}/`);
  const { lastCommit, size, path } = item;
  return {
    ...blankEntry("file", path),
    size: checkedSize(size, path),
    etag: etagOf(item),
    version: lastCommit?.id ?? "",
    last_modified: lastCommit ? new Date(lastCommit.date) : null,
  };
}
