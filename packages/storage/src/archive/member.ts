/** A file in an archive. */
import type { Entry } from "../backend.ts";
import { blankEntry } from "../entry.ts";

export interface Member {
  readonly size: number;
  readonly etag: string;
  readonly modified: Date | null;
  /** Why the member cannot be read, for example because it is encrypted. */
  readonly refusal?: string | undefined;
}

/** Size limit of the directory, which stays in memory while the storage is open: for ZIP, its size in the archive. */
export const longestDirectory = 256 * 1024 * 1024;

/**
 * Size of a ZIP directory entry without its name. Formats without a directory count this much plus the name for each
 * member.
 */
export const memberCost = 46;

/** Members by key, in the order of the archive. */
export type Members<M extends Member> = Map<string, M>;

export const memberEntry = (key: string, { size, etag, modified }: Member): Entry => ({
  ...blankEntry("file", key),
  size,
  etag,
  last_modified: modified,
});

/**
 * Turns a member name, which its creator chose freely, into a key. Returns undefined if the name leads out of the
 * archive or is empty. Backslashes become slashes, and anything before the first path segment is dropped.
 */
export function memberKey(name: string): string | undefined {
  const names = name.replaceAll("\\", "/").split("/");
  const kept = names.filter((part) => part !== "" && part !== ".");
  if (kept.length === 0 || kept.includes("..") || /^[a-zA-Z]:$/.test(kept[0] as string)) return undefined;
  const key = kept.join("/");
  return key.isWellFormed() && !key.includes("\0") ? key : undefined;
}
