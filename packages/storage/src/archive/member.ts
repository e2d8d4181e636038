/** A file in an archive. */
import type { Entry } from "../backend.ts";
import { blankEntry } from "../entry.ts";

export interface Member {
  readonly size: number;
  readonly etag: string;
  readonly modified: Date | null;
  /** Why it cannot be read: it is encrypted, say. */
  readonly refusal?: string | undefined;
}

/** Of its directory, which is kept in memory while the storage is open: a ZIP archive's as it is written. */
export const longestDirectory = 256 * 1024 * 1024;

/** What a file without a name has in a ZIP directory. Archives without a directory count so much for each, and its name. */
export const memberCost = 46;

/** By key, the order of which is that of the archive. */
export type Members<M extends Member> = Map<string, M>;

export const memberEntry = (key: string, { size, etag, modified }: Member): Entry => ({
  ...blankEntry("file", key),
  size,
  etag,
  last_modified: modified,
});

/**
 * The key of a name that an archive has, which is anything that its maker wrote. Undefined: it has none, since it leads
 * out of the archive, or nowhere. Backslashes are slashes, and what stands before the first name of a path is dropped.
 */
export function memberKey(name: string): string | undefined {
  const names = name.replaceAll("\\", "/").split("/");
  const kept = names.filter((part) => part !== "" && part !== ".");
  if (kept.length === 0 || kept.includes("..") || /^[a-zA-Z]:$/.test(kept[0] as string)) return undefined;
  const key = kept.join("/");
  return key.isWellFormed() && !key.includes("\0") ? key : undefined;
}
