/** Reads files on WebDAV servers. */
import { etagOfTime } from "../../address/tree-path.ts";
import type { Content, Entry, ReadCall } from "../../backend.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { entryFromHeaders } from "../../http/entry-from-headers.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import type { DavClient } from "./client.ts";
import { checkPath, statFile } from "./list.ts";

/** Reads a file. Not every server respects If-Match, so the ETag of the answer is compared as well. */
export async function readFile(client: DavClient, key: string, call: ReadCall): Promise<Content> {
  checkPath(key);
  try {
    const answer = await client.send({ method: "GET", key, headers: headersOf(call), signal: call.signal });
    const entry = await entryOf(client, key, answer, call);
    if (call.ifMatch === undefined || call.ifMatch === entry.etag) return contentOf(answer, entry, call);
    await answer.discard();
    throw new StorageError(
      "precondition",
      `${key} was replaced: its ETag is no longer the expected one; read the new file from its start`,
      client.place(key),
    );
  } catch (error) {
    if (!isStorageError(error)) throw error;
    if (error.status === 416) return emptyContent(await statFile(client, key, call), call);
    // Servers may answer a read of a folder with status 301 or 403. `statFile` throws an error that says so if the key
    // is a folder.
    if (error.status === 301 || error.status === 403) await statFile(client, key, call);
    throw error;
  }
}

function headersOf(call: ReadCall): Record<string, string> {
  const isStrong = call.ifMatch !== undefined && !call.ifMatch.startsWith("W/");
  return { ...rangeHeader(call), ...(isStrong ? { "if-match": `"${call.ifMatch}"` } : {}) };
}

/**
 * Returns the entry of the file that is read. An answer without a modification time is probably a web page about a
 * folder. In this case, the key is looked up, and `statFile` throws if it is a folder.
 */
async function entryOf(client: DavClient, key: string, answer: HttpAnswer, call: ReadCall): Promise<Entry> {
  const entry = entryFromHeaders(key, answer);
  if (entry.last_modified === null) await statFile(client, key, call);
  entry.etag ||= etagOfTime(entry.last_modified, entry.size);
  return entry;
}
