/** A file in an archive. */
import type { Entry } from "../backend.ts";
import { blankEntry } from "../entry.ts";

export interface Member {
  readonly size: number;
  readonly etag: string;
  readonly modified: Date | null;
  /** Why the member cannot be read, for example because it is encrypted; undefined if it can be read. */
  readonly refusal?: string | undefined;
}

/**
 * Maximum size in bytes of an archive's directory, which stays in memory while the storage is open. For ZIP, the size
 * of the directory in the archive counts. For other formats, see `memberCost`.
 */
export const longestDirectory = 256 * 1024 * 1024;

/**
 * Size in bytes of a ZIP directory entry without its name. For formats without a directory, each member counts as this
 * size plus the length of its name.
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
 * Turns the name of a member, which the creator of the archive chose freely, into a key. Backslashes become slashes;
 * empty segments and `.` are dropped. Returns undefined if the name is empty, invalid, or leads out of the archive.
 */
export function memberKey(name: string): string | undefined {
  const names = name.replaceAll("\\", "/").split("/");
  const kept = names.filter((part) => part !== "" && part !== ".");
  if (kept.length === 0 || kept.includes("..") || /^[a-zA-Z]:$/.test(kept[0] as string)) return undefined;
  const key = kept.join("/");
  return key.isWellFormed() && !key.includes("\0") ? key : undefined;
}
