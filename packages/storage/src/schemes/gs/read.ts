/** Reads an object's metadata and content. */
import type { Content, Entry, ReadCall, VersionCall } from "../../backend.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { entryFromHeaders } from "../../http/entry-from-headers.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import type { GsClient } from "./client.ts";
import { entryFields, type ObjectResource, toEntry } from "./object-resource.ts";

export async function statObject(client: GsClient, key: string, call: VersionCall): Promise<Entry> {
  const query = { ...generationQuery(call), fields: entryFields };
  const path = client.objectPath(key);
  return toEntry(await client.sendForJson<ObjectResource>({ method: "GET", path, key, query, signal: call.signal }));
}

export async function readObject(client: GsClient, key: string, call: ReadCall): Promise<Content> {
  // Requests the bytes as they are stored. Without this header, the store would decompress gzip objects, and the size
  // would differ.
  const headers = { ...rangeHeader(call), "accept-encoding": "gzip" };
  const query = { ...generationQuery(call), alt: "media" };
  const { signal } = call;
  try {
    const path = client.objectPath(key);
    const answer = await client.send({ method: "GET", path, key, query, headers, signal, isDirect: true });
    const entry = entryFromHeaders(key, answer, answer.header("x-goog-generation"));
    if (call.ifMatch === undefined || call.ifMatch === entry.etag) return contentOf(answer, entry, call);
    await answer.discard();
    throw replaced(client, key);
  } catch (error) {
    // The expected generation no longer exists, so the object was replaced.
    if (isStorageError(error, "not_found") && call.ifMatch !== undefined) throw replaced(client, key);
    if (!isStorageError(error) || error.status !== 416) throw error;
    return emptyContent(await statObject(client, key, call), call);
  }
}

const replaced = (client: GsClient, key: string) =>
  new StorageError(
    "precondition",
    `gs://${client.bucket}/${key}: the object was replaced: its ETag is no longer the expected one; read the new object from its start`,
    client.place(key),
  );

export const generationQuery = ({ version }: VersionCall): Record<string, string> =>
  version ? { generation: version } : {};
