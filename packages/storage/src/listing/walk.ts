/** Walks a tree folder by folder. */
import type { CallOptions, Entry } from "../backend.ts";
import type { WalkedFolder } from "../storage.ts";
import { checkDepth } from "./depth.ts";
import type { ListPrefix } from "./glob.ts";

/** Yields every folder with its contents, each before its subfolders. */
export async function* walkFolders(list: ListPrefix, path: string, options: CallOptions): AsyncGenerator<WalkedFolder> {
  const files: Entry[] = [];
  const folders: string[] = [];
  for await (const entry of list(path, false, options)) {
    if (entry.type === "directory") folders.push(entry.path);
    else files.push(entry);
  }
  yield { path, folders, files };
  for (const folder of folders) {
    checkDepth(folder);
    yield* walkFolders(list, folder, options);
  }
}
