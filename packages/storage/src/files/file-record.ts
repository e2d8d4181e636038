/** The metadata of a file, known without opening it. */
import type { Entry } from "../backend.ts";

export interface FileRecord {
  /** The part of the URI before the path: a bucket such as `s3://bucket`, a web server, or a folder. */
  readonly source: string;
  readonly path: string;
  readonly size: number;
  /** Version id; empty if the store keeps no versions, or if versions were not requested. */
  readonly version: string;
  /** ETag without quotes; empty if the store has none. */
  readonly etag: string;
  readonly is_latest: boolean;
  readonly last_modified: Date | null;
  /** Always null. Other programs that write these records use the field for files that lie inside another file. */
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
