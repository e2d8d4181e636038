/** Reads an object's metadata and content. */
import type { Content, Entry, ReadCall, VersionCall } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { entryFromHeaders } from "../../http/entry-from-headers.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import { checked, checksumWish, noWish } from "./checksum.ts";
import type { S3Client } from "./client.ts";

export async function statObject(client: S3Client, key: string, call: VersionCall): Promise<Entry> {
  const query = versionQuery(call);
  const answer = await client.send({ call: "head", method: "HEAD", key, query, signal: call.signal });
  await answer.discard();
  return toEntry(key, answer);
}

export async function readObject(client: S3Client, key: string, call: ReadCall): Promise<Content> {
  const wish = checksumWish(client, call);
  const headers: Record<string, string> = { ...rangeHeader(call), ...wish };
  if (call.ifMatch !== undefined) headers["if-match"] = `"${call.ifMatch}"`;
  const query = versionQuery(call);
  const { signal } = call;
  try {
    const answer = await client.send({ call: "get", method: "GET", key, query, headers, signal, isDirect: true });
    const content = contentOf(answer, toEntry(key, answer), call);
    return wish === noWish ? content : checked(content, answer, client.place(key));
  } catch (error) {
    // Status 416: the range begins after the end of the object. Every range of an empty object does.
    if (!isStorageError(error) || error.status !== 416) throw error;
    return emptyContent(await statObject(client, key, call), call);
  }
}

export const versionQuery = ({ version }: VersionCall): Record<string, string> =>
  version ? { versionId: version } : {};

export function toEntry(key: string, answer: HttpAnswer): Entry {
  const version = answer.header("x-amz-version-id");
  return entryFromHeaders(key, answer, version === "null" ? "" : version);
}
