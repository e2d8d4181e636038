/** The hub's description of files and folders of a commit. */
import { type Commit, type HubFile, pointerOf } from "./repository.ts";

export interface TreeItem {
  readonly type: "file" | "directory";
  readonly path: string;
  readonly oid: string;
  readonly size: number;
}

/** The items in a folder; undefined if there is no such folder. */
export function itemsOf(commit: Commit, folder: string, recursive: boolean, expand: boolean): TreeItem[] | undefined {
  const prefix = folder === "" ? "" : `${folder}/`;
  const items = new Map<string, TreeItem>();
  for (const [path, file] of commit.files) {
    if (!path.startsWith(prefix)) continue;
    const names = path.slice(prefix.length).split("/");
    for (let depth = 1; depth < names.length && (recursive || depth === 1); depth += 1) {
      const name = prefix + names.slice(0, depth).join("/");
      items.set(name, folderItem(commit, name, expand));
    }
    if (recursive || names.length === 1) items.set(path, fileItem(path, file, expand));
  }
  if (items.size === 0 && folder !== "") return undefined;
  return [...items.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The file or folder of this path. */
export function itemAt(commit: Commit, path: string, expand: boolean): TreeItem | undefined {
  const file = commit.files.get(path);
  if (file) return fileItem(path, file, expand);
  const isFolder = [...commit.files.keys()].some((name) => name.startsWith(`${path}/`));
  return isFolder ? folderItem(commit, path, expand) : undefined;
}

function fileItem(path: string, file: HubFile, expand: boolean): TreeItem {
  const { bytes, oid, sha256, commit } = file;
  const pointerSize = sha256 === undefined ? 0 : pointerOf(sha256, bytes.length).length;
  return {
    type: "file",
    path,
    oid,
    size: bytes.length,
    ...(sha256 === undefined ? {} : { lfs: { oid: sha256, size: bytes.length, pointerSize } }),
    ...(expand ? { lastCommit: commit, securityFileStatus: null } : {}),
  };
}

const folderItem = ({ id, title, date }: Commit, path: string, expand: boolean): TreeItem => ({
  type: "directory",
  path,
  oid: "0".repeat(40),
  size: 0,
  ...(expand ? { lastCommit: { id, title, date } } : {}),
});
