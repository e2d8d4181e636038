/** Looking at an object, and reading it. */
import type { Content, Entry, ReadCall, VersionCall } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/client.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import type { S3Client } from "./client.ts";

export async function statObject(client: S3Client, key: string, call: VersionCall): Promise<Entry> {
  const query = versionQuery(call);
  const answer = await client.send({ call: "head", method: "HEAD", key, query, signal: call.signal });
  await answer.discard();
  return toEntry(key, answer);
}

export async function readObject(client: S3Client, key: string, call: ReadCall): Promise<Content> {
  const headers: Record<string, string> = { ...rangeHeader(call) };
  if (call.ifMatch !== undefined) headers["if-match"] = `"${call.ifMatch}"`;
  const query = versionQuery(call);
  const { signal } = call;
  try {
    const answer = await client.send({ call: "get", method: "GET", key, query, headers, signal, isDirect: true });
    return contentOf(answer, toEntry(key, answer), call);
  } catch (error) {
    // The range lies beyond the end, as every range of an empty object does.
    if (!isStorageError(error) || error.status !== 416) throw error;
    return emptyContent(await statObject(client, key, call), call);
  }
}

export const versionQuery = ({ version }: VersionCall): Record<string, string> =>
  version ? { versionId: version } : {};

export function toEntry(key: string, answer: HttpAnswer): Entry {
  const modified = answer.header("last-modified");
  const version = answer.header("x-amz-version-id") ?? "";
  return {
    path: key,
    size: Number(answer.header("content-range")?.split("/")[1] ?? answer.header("content-length") ?? 0),
    etag: (answer.header("etag") ?? "").replaceAll('"', ""),
    version: version === "null" ? "" : version,
    is_latest: true,
    last_modified: modified === undefined ? null : new Date(modified),
    type: "file",
  };
}
