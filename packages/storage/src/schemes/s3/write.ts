/** Writing an object: at once, or in parts. */
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { elementText, escapeText } from "../../xml.ts";
import { metadataHeaders } from "./call-members.ts";
import type { S3Client } from "./client.ts";
import { toEntry } from "./read.ts";

export async function putObject(client: S3Client, key: string, body: Uint8Array, call: WriteCall): Promise<Entry> {
  const headers = { ...headersOf(call), ...conditionsOf(call) };
  const answer = await client.send({ call: "put", method: "PUT", key, headers, body, signal: call.signal });
  await answer.discard();
  return { ...toEntry(key, answer), size: body.length };
}

function headersOf(call: WriteCall): Record<string, string> {
  const headers = metadataHeaders(call.metadata);
  if (call.contentType !== undefined) headers["content-type"] = call.contentType;
  return headers;
}

function conditionsOf(call: WriteCall): Record<string, string> {
  if (call.ifNoneMatch !== undefined) return { "if-none-match": call.ifNoneMatch };
  return call.ifMatch === undefined ? {} : { "if-match": `"${call.ifMatch}"` };
}

export async function beginUpload(client: S3Client, key: string, call: WriteCall): Promise<Upload> {
  const xml = await client.sendForText({
    call: "create",
    method: "POST",
    key,
    query: { uploads: "" },
    headers: headersOf(call),
    signal: call.signal,
  });
  const uploadId = elementText(xml, "UploadId");
  if (uploadId === undefined)
    throw new StorageError("failed", `${key}: the store began no upload`, { scheme: "s3", key });
  return new MultipartUpload(client, key, uploadId, call);
}

class MultipartUpload implements Upload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #call: WriteCall;
  readonly #etags: string[] = [];
  #size = 0;

  constructor(client: S3Client, key: string, uploadId: string, call: WriteCall) {
    this.#client = client;
    this.#key = key;
    this.#uploadId = uploadId;
    this.#call = call;
  }

  async put(part: number, body: Uint8Array): Promise<void> {
    const query = { partNumber: String(part), uploadId: this.#uploadId };
    const { signal } = this.#call;
    const answer = await this.#client.send({ call: "part", method: "PUT", key: this.#key, query, body, signal });
    await answer.discard();
    this.#etags[part - 1] = answer.header("etag") ?? "";
    this.#size += body.length;
  }

  async finish(): Promise<Entry> {
    const parts = this.#etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeText(etag)}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
    const text = await this.#client.sendForText({
      call: "complete",
      method: "POST",
      key: this.#key,
      query: { uploadId: this.#uploadId },
      headers: { "content-type": "application/xml", ...conditionsOf(this.#call) },
      body: Buffer.from(xml),
      signal: this.#call.signal,
    });
    const etag = (elementText(text, "ETag") ?? "").replaceAll('"', "");
    const { path, size } = { path: this.#key, size: this.#size };
    return { path, size, etag, version: "", is_latest: true, last_modified: null, type: "file" };
  }

  /** Without the caller's signal: what was aborted must be cleared away all the same. */
  async abort(): Promise<void> {
    const query = { uploadId: this.#uploadId };
    const answer = await this.#client.send({ call: "delete", method: "DELETE", key: this.#key, query });
    await answer.discard();
  }
}
