/** What is known of a file without opening it. */
import type { Entry } from "../backend.ts";

export interface FileRecord {
  /** Where the path begins: `s3://bucket`, the web server, the folder. */
  readonly source: string;
  readonly path: string;
  readonly size: number;
  /** Empty where the store keeps no versions, or was not asked for them. */
  readonly version: string;
  /** Without quotes; empty where the store has none. */
  readonly etag: string;
  readonly is_latest: boolean;
  readonly last_modified: Date | null;
  /** Where the bytes lie, if not in a file of their own; always null here: kept for those who fill it. */
  readonly location: null;
}

export const recordOf = (source: string, entry: Entry): FileRecord => ({
  source,
  path: entry.path,
  size: entry.size,
  version: entry.version,
  etag: entry.etag,
  is_latest: entry.is_latest,
  last_modified: entry.last_modified,
  location: null,
});
