/** Removes one object, or many in one call. */
import { createHash } from "node:crypto";
import type { CallOptions, VersionCall } from "../../backend.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { elements, elementText, escapeText } from "../../http/xml.ts";
import type { S3Client } from "./client.ts";
import { versionQuery } from "./read.ts";

export async function removeObject(client: S3Client, key: string, call: VersionCall): Promise<void> {
  try {
    const query = versionQuery(call);
    const answer = await client.send({ call: "delete", method: "DELETE", key, query, signal: call.signal });
    await answer.discard();
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

export async function removeObjects(client: S3Client, keys: readonly string[], call: CallOptions): Promise<void> {
  const objects = keys.map((key) => `<Object><Key>${escapeText(key)}</Key></Object>`);
  const body = Buffer.from(`<Delete><Quiet>true</Quiet>${objects.join("")}</Delete>`);
  const xml = await client.sendForText({
    call: "delete",
    method: "POST",
    key: "",
    query: { delete: "" },
    headers: { "content-type": "application/xml", "content-md5": createHash("md5").update(body).digest("base64") },
    root: "DeleteResult",
    body,
    signal: call.signal,
  });
  for (const { start, end } of elements(xml, "Error")) refuse(client, xml, start, end);
}

function refuse(client: S3Client, xml: string, start: number, end: number): void {
  const key = elementText(xml, "Key", start, end) ?? "";
  const word = elementText(xml, "Code", start, end) ?? "the store gave no reason";
  if (word === "NoSuchKey") return;
  const code = word === "AccessDenied" ? "permission" : word === "SlowDown" ? "throttled" : "failed";
  const place = { scheme: "s3", bucket: client.bucket, key };
  throw new StorageError(code, `s3://${client.bucket}/${key}: the object was not removed: ${word}`, place);
}
