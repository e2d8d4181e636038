/** Objects in the store's JSON form. */
import type { Entry } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";

export interface ObjectResource {
  readonly name: string;
  readonly size?: string;
  readonly etag?: string;
  readonly generation?: string;
  readonly updated?: string;
  /** Time at which this generation was replaced by a newer one, or deleted. Absent for the latest generation. */
  readonly timeDeleted?: string;
  readonly md5Hash?: string;
  readonly crc32c?: string;
}

/** The fields that listings and `stat` request. */
export const entryFields = "name,size,etag,generation,updated,timeDeleted";
/** The fields that writes request. Only writes need checksums. */
export const writtenFields = `${entryFields},md5Hash,crc32c`;

export const toEntry = (resource: ObjectResource): Entry => ({
  path: resource.name,
  size: checkedSize(resource.size ?? "0", resource.name),
  etag: resource.etag ?? "",
  version: resource.generation ?? "",
  is_latest: resource.timeDeleted === undefined,
  last_modified: resource.updated === undefined ? null : new Date(resource.updated),
  type: "file",
});
