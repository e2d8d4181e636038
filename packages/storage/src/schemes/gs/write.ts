/** Writes an object in one request. Also builds the preconditions that all kinds of writes send. */
import { randomUUID } from "node:crypto";
import type { Entry, WriteCall } from "../../backend.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { checkHeaderText } from "../../http/header-text.ts";
import type { GsClient } from "./client.ts";
import { Checksum, checkWritten } from "./consistency.ts";
import { type ObjectResource, toEntry, writtenFields } from "./object-resource.ts";
import { statObject } from "./read.ts";

export async function putObject(client: GsClient, key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry> {
  checkType(client, key, call);
  const query = { name: key, fields: writtenFields, ...(await conditionsOf(client, key, call)) };
  const { path, signal } = { path: client.uploadPath, signal: call.signal };
  const content = call.metadata === undefined ? plain(bytes, call) : withMetadata(key, bytes, call);
  const { uploadType, ...rest } = content;
  const sent = { method: "POST", path, key, query: { ...query, uploadType }, signal, ...rest } as const;
  const written = await client.sendForJson<ObjectResource>(sent);
  const checksum = new Checksum(client.configuration.values.consistency);
  checksum.add(bytes);
  await checkWritten(client, written, checksum);
  return toEntry(written);
}

const defaultType = "application/octet-stream";

/** Checks the content type, which is sent as a header. Metadata is JSON and may be any text. */
export function checkType(client: GsClient, key: string, { contentType = defaultType }: WriteCall): void {
  checkHeaderText("contentType", contentType, client.place(key));
}

const plain = (body: Uint8Array, { contentType = defaultType }: WriteCall) => ({
  uploadType: "media",
  headers: { "content-type": contentType },
  body,
});

/** Joins metadata and content in one multipart body. */
function withMetadata(key: string, bytes: Uint8Array, call: WriteCall) {
  const boundary = randomUUID();
  const part = (type: string) => `--${boundary}\r\ncontent-type: ${type}\r\n\r\n`;
  const head = `${part("application/json; charset=UTF-8")}${JSON.stringify({ name: key, ...describe(call) })}\r\n`;
  return {
    uploadType: "multipart",
    headers: { "content-type": `multipart/related; boundary=${boundary}` },
    body: Buffer.concat([
      Buffer.from(head + part(call.contentType ?? defaultType)),
      bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}

export const describe = ({ contentType = defaultType, metadata }: WriteCall) => ({ contentType, metadata });

/**
 * Returns the preconditions as query parameters. The store compares generations, not ETags. So the current generation
 * is looked up, and its ETag must be the expected one. If somebody else writes the object after the lookup, the store
 * refuses this write.
 */
export async function conditionsOf(client: GsClient, key: string, call: WriteCall): Promise<Record<string, string>> {
  if (call.ifNoneMatch !== undefined) return { ifGenerationMatch: "0" };
  if (call.ifMatch === undefined) return {};
  const there = await statObject(client, key, { signal: call.signal }).catch((error: unknown) => {
    if (isStorageError(error, "not_found")) return undefined;
    throw error;
  });
  if (there?.etag === call.ifMatch) return { ifGenerationMatch: there.version };
  throw new StorageError(
    "precondition",
    `gs://${client.bucket}/${key}: the object was replaced or removed: its ETag is no longer the expected one; read it again before you write`,
    client.place(key),
  );
}
