/** Reads a blob's metadata and content. */
import type { Content, Entry, ReadCall, VersionCall } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { entryFromHeaders } from "../../http/entry-from-headers.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import type { AzClient } from "./client.ts";

export async function statBlob(client: AzClient, key: string, call: VersionCall): Promise<Entry> {
  const answer = await client.send({ method: "HEAD", key, query: versionQuery(call), signal: call.signal });
  await answer.discard();
  return toEntry(key, answer);
}

export async function readBlob(client: AzClient, key: string, call: ReadCall): Promise<Content> {
  const headers: Record<string, string> = { ...rangeHeader(call) };
  if (call.ifMatch !== undefined) headers["if-match"] = `"${call.ifMatch}"`;
  const query = versionQuery(call);
  const { signal } = call;
  try {
    const answer = await client.send({ method: "GET", key, query, headers, signal, transfer: true, isDirect: true });
    return contentOf(answer, toEntry(key, answer), call);
  } catch (error) {
    // Status 416: the range begins after the end of the blob. Every range of an empty blob does.
    if (!isStorageError(error) || error.status !== 416) throw error;
    return emptyContent(await statBlob(client, key, call), call);
  }
}

export const versionQuery = ({ version }: VersionCall): Record<string, string> =>
  version ? { versionid: version } : {};

export function toEntry(key: string, answer: HttpAnswer): Entry {
  const entry = entryFromHeaders(key, answer, answer.header("x-ms-version-id"));
  entry.is_latest = entry.version === "" || answer.header("x-ms-is-current-version") !== "false";
  return entry;
}
