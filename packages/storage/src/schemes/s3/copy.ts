/** Copies an object inside the store. Objects of more than 5 GB are copied in parts. */
import { encodeKey, encodeText } from "../../address/url-encoding.ts";
import type { CopyCall } from "../../backend.ts";
import { runAll } from "../../concurrency/window.ts";
import type { S3Client } from "./client.ts";
import { beginUpload } from "./multipart.ts";
import { statObject } from "./read.ts";

const gibibyte = 1024 ** 3;
const largestCopy = 5 * gibibyte;
const copyPart = gibibyte;
const partsAtOnce = 8;

export async function copyObject(client: S3Client, from: string, to: string, call: CopyCall): Promise<void> {
  const { size, etag } = call.source?.entry ?? (await statObject(client, from, call));
  const headers: Record<string, string> = { "x-amz-copy-source": sourceOf(client, from, call) };
  if (etag !== "") headers["x-amz-copy-source-if-match"] = `"${etag}"`;
  if (size > largestCopy) return copyInParts(client, to, { size, headers }, call);
  await client.sendForText({
    call: "copy",
    method: "PUT",
    key: to,
    headers,
    root: "CopyObjectResult",
    signal: call.signal,
  });
}

function sourceOf(client: S3Client, key: string, { version, source }: CopyCall): string {
  const path = `/${encodeText(source?.bucket ?? client.bucket)}/${encodeKey(key)}`;
  return version ? `${path}?versionId=${encodeText(version)}` : path;
}

/** The object that is copied. */
interface CopySource {
  readonly size: number;
  /** Headers that name the object, its version and its ETag. */
  readonly headers: Readonly<Record<string, string>>;
}

async function copyInParts(
  client: S3Client,
  key: string,
  { size, headers }: CopySource,
  { signal }: CopyCall,
): Promise<void> {
  const upload = await beginUpload(client, key, { signal }, false);
  try {
    await runAll(Array.from({ length: Math.ceil(size / copyPart) }).keys(), partsAtOnce, async (index) => {
      const start = index * copyPart;
      const end = Math.min(size, start + copyPart);
      const range = { "x-amz-copy-source-range": `bytes=${start}-${end - 1}` };
      await upload.putCopy(index + 1, { ...headers, ...range }, end - start);
    });
    await upload.finish();
  } catch (error) {
    await upload.abort().catch(() => {});
    throw error;
  }
}
