/** Copies that the store makes itself; objects over 5 GB are copied in parts. */
import type { VersionCall } from "../../backend.ts";
import { encodeKey, encodeText } from "../../url-encoding.ts";
import { runAll } from "../../window.ts";
import { elementText, escapeText } from "../../xml.ts";
import type { S3Client } from "./client.ts";
import { statObject } from "./read.ts";

const gibibyte = 1024 ** 3;
const largestCopy = 5 * gibibyte;
const copyPart = gibibyte;
const partsAtOnce = 8;

export async function copyObject(client: S3Client, from: string, to: string, call: VersionCall): Promise<void> {
  const { size, etag } = await statObject(client, from, call);
  const headers = { "x-amz-copy-source": sourceOf(client, from, call), "x-amz-copy-source-if-match": `"${etag}"` };
  if (size > largestCopy) return copyInParts(client, to, size, headers, call);
  await client.sendForText({ call: "copy", method: "PUT", key: to, headers, signal: call.signal });
}

function sourceOf(client: S3Client, key: string, { version }: VersionCall): string {
  const path = `/${encodeText(client.bucket)}/${encodeKey(key)}`;
  return version ? `${path}?versionId=${encodeText(version)}` : path;
}

async function copyInParts(
  client: S3Client,
  key: string,
  size: number,
  headers: Readonly<Record<string, string>>,
  { signal }: VersionCall,
): Promise<void> {
  const begun = await client.sendForText({ call: "create", method: "POST", key, query: { uploads: "" }, signal });
  const uploadId = elementText(begun, "UploadId") ?? "";
  const parts: string[] = [];
  try {
    await runAll(Array.from({ length: Math.ceil(size / copyPart) }).keys(), partsAtOnce, async (index) => {
      const range = `bytes=${index * copyPart}-${Math.min(size, (index + 1) * copyPart) - 1}`;
      const query = { partNumber: String(index + 1), uploadId };
      const partHeaders = { ...headers, "x-amz-copy-source-range": range };
      const xml = await client.sendForText({ call: "copy", method: "PUT", key, query, headers: partHeaders, signal });
      parts[index] = partXml(index + 1, elementText(xml, "ETag") ?? "");
    });
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
    await client.sendForText({ call: "complete", method: "POST", key, query: { uploadId }, body, signal });
  } catch (error) {
    await client.send({ call: "delete", method: "DELETE", key, query: { uploadId } }).catch(() => {});
    throw error;
  }
}

const partXml = (number: number, etag: string) =>
  `<Part><PartNumber>${number}</PartNumber><ETag>${escapeText(etag)}</ETag></Part>`;
