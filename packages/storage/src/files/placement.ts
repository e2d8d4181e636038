/** Determines the path of an exported file in the target from the file's record. */
import { afterScheme } from "../address/uri.ts";
import { StorageError } from "../errors.ts";
import type { FileRecord } from "./file-record.ts";

export const placements = ["filename", "filepath", "fullpath", "etag", "checksum"] as const;

/**
 * The name of an exported file. `filename`: its name alone. `filepath`: its path. `fullpath`: bucket and path. `etag`
 * and `checksum`: an identifier of the content, with the suffix of the file's name.
 */
export type Placement = (typeof placements)[number];

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Returns the suffix with its dot; empty for names such as `.profile`. */
const suffixOf = (path: string) => /[^/](\.[^./]+)$/.exec(nameOf(path))?.[1] ?? "";

/** Returns the path of the file, relative to the target. `digest` is called only if the content determines the name. */
export async function placeOf(
  record: FileRecord,
  placement: Placement,
  digest: () => Promise<string>,
): Promise<string> {
  checkPath(record);
  if (placement === "filename") return nameOf(record.path);
  if (placement === "filepath") return record.path;
  if (placement === "fullpath") return `${afterScheme(record.source)}/${record.path}`.replace(/^\/+/, "");
  if (placement === "checksum") return (await digest()) + suffixOf(record.path);
  if (record.etag === "")
    throw new StorageError(
      "invalid",
      `${record.path} has no ETag, but the placement etag names every file by its ETag; choose another placement`,
    );
  return record.etag.replaceAll("/", "_") + suffixOf(record.path);
}

/** Throws if the path of a file leads out of the target, or would mean something else in another storage. */
export function checkPath({ path }: FileRecord): void {
  const isRefused = path === "" || path.endsWith("/") || path.split("/").some((part) => part === "." || part === "..");
  if (isRefused)
    throw new StorageError(
      "invalid",
      `${JSON.stringify(path)} is not a valid path for an exported file: it is empty, ends with a slash, or contains a segment . or ..`,
    );
}
