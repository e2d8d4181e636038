/** Reads files of the hub. */
import { encodeKey } from "../../address/url-encoding.ts";
import type { Content, Entry, ReadCall } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { entryFromHeaders, unquoted } from "../../http/entry-from-headers.ts";
import { contentOf, emptyContent, rangeHeader } from "../../http/range.ts";
import type { HubAnswer, HubClient } from "./client.ts";
import { statFile } from "./list.ts";
import { checkPath } from "./repository.ts";

export async function readFile(client: HubClient, key: string, call: ReadCall): Promise<Content> {
  const revision = encodeURIComponent(call.version ?? client.name.revision);
  const url = await client.fileUrl(`/resolve/${revision}/${encodeKey(checkPath(key))}`);
  try {
    const { signal } = call;
    const sent = await client.send({ method: "GET", url, key, headers: rangeHeader(call), signal, isDirect: true });
    const entry = toEntry(key, sent);
    if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
      await sent.answer.discard();
      throw new StorageError(
        "precondition",
        `${key} was replaced: its ETag is no longer the expected one; read the new file from its start`,
        client.place(key),
      );
    }
    return contentOf(sent.answer, entry, call);
  } catch (error) {
    if (!isStorageError(error) || error.status !== 416) throw error;
    return emptyContent(await statFile(client, key, call), call);
  }
}

/**
 * Returns the entry of a file. Its version is the commit that was read, so that later reads of the entry use the same
 * commit.
 */
function toEntry(key: string, { answer, told }: HubAnswer): Entry {
  const linkedSize = told.header("x-linked-size");
  const etag = told.header("x-linked-etag") ?? told.header("etag");
  return {
    ...entryFromHeaders(key, answer, told.header("x-repo-commit")),
    ...(linkedSize !== undefined && { size: checkedSize(linkedSize, key) }),
    etag: unquoted(etag?.replace(/^W\//, "")),
    last_modified: null,
  };
}
