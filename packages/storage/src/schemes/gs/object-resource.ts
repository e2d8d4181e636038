/** Objects as the store describes them: in JSON, and in the headers of their content. */
import type { Entry } from "../../backend.ts";
import type { HttpAnswer } from "../../http/client.ts";

export interface ObjectResource {
  readonly name: string;
  readonly size?: string;
  readonly etag?: string;
  readonly generation?: string;
  readonly updated?: string;
  /** Only of generations that are no longer the latest. */
  readonly timeDeleted?: string;
  readonly md5Hash?: string;
  readonly crc32c?: string;
}

/** What is asked for; checksums are long, and wanted after writes only. */
export const entryFields = "name,size,etag,generation,updated,timeDeleted";
export const writtenFields = `${entryFields},md5Hash,crc32c`;

export const toEntry = (resource: ObjectResource): Entry => ({
  path: resource.name,
  size: Number(resource.size ?? 0),
  etag: resource.etag ?? "",
  version: resource.generation ?? "",
  is_latest: resource.timeDeleted === undefined,
  last_modified: resource.updated === undefined ? null : new Date(resource.updated),
  type: "file",
});

export function entryOfAnswer(key: string, answer: HttpAnswer): Entry {
  const modified = answer.header("last-modified");
  return {
    path: key,
    size: Number(answer.header("content-range")?.split("/")[1] ?? answer.header("content-length") ?? 0),
    etag: (answer.header("etag") ?? "").replaceAll('"', ""),
    version: answer.header("x-goog-generation") ?? "",
    is_latest: true,
    last_modified: modified === undefined ? null : new Date(modified),
    type: "file",
  };
}
