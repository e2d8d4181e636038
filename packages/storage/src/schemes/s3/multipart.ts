/** Writes an object in parts. The parts are bytes, or ranges of another object in the store. */
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { elementText, escapeText } from "../../http/xml.ts";
import { checksumHeaders, writesChecksums } from "./checksum.ts";
import type { S3Client, S3Request } from "./client.ts";
import { etagOfParts, unlessWritten, untilThere } from "./lost-answer.ts";
import { abortUntilGone, abortUpload, type Beginning, removeLostUploads, type StartedUpload } from "./lost-upload.ts";
import { conditionsOf, headersOf } from "./write-headers.ts";

/** Starts an upload. If `checksums` is true, every part has a checksum, which the store must know from the start. */
export async function beginUpload(
  client: S3Client,
  key: string,
  call: WriteCall,
  checksums = writesChecksums(client),
): Promise<MultipartUpload> {
  const asked = performance.now();
  let attempts = 0;
  const request: S3Request = {
    call: "create",
    method: "POST",
    key,
    query: { uploads: "" },
    headers: { ...headersOf(call, client.place(key)), ...(checksums ? { "x-amz-checksum-algorithm": "CRC32" } : {}) },
    signal: call.signal,
    onAttempt: (attempt) => {
      attempts = attempt;
    },
  };
  const beginning = () => ({ asked, answered: performance.now() });
  try {
    const uploadId = elementText(
      await client.sendForText({ ...request, root: "InitiateMultipartUploadResult" }),
      "UploadId",
    );
    if (uploadId === undefined)
      throw new StorageError(
        "failed",
        `${key}: the store did not start the upload: its answer contains no upload id; write the object again`,
        {
          key,
        },
      );
    const started = { client, key, uploadId };
    return new MultipartUpload(started, call, checksums, attempts > 1 ? beginning() : undefined);
  } catch (error) {
    if (attempts > 1 || call.signal?.aborted) await removeLostUploads(client, key, beginning()).catch(() => {});
    throw error;
  }
}

export class MultipartUpload implements Upload {
  readonly #started: StartedUpload;
  readonly #call: WriteCall;
  /**
   * When the upload was started. Set only if the start took more than one attempt: an earlier attempt may then have
   * started another upload, which must be removed.
   */
  readonly #beginning: Beginning | undefined;
  readonly #etags: string[] = [];
  /** The checksum of each part; undefined if checksums are not enabled. */
  readonly #checksums: string[] | undefined;
  /** Whether sending a part has failed. The store may then still be receiving that part. */
  #hasBrokenOff = false;
  #size = 0;

  constructor(started: StartedUpload, call: WriteCall, checksums: boolean, beginning: Beginning | undefined) {
    this.#started = started;
    this.#call = call;
    this.#checksums = checksums ? [] : undefined;
    this.#beginning = beginning;
  }

  async put(part: number, body: Uint8Array): Promise<void> {
    const headers = this.#checksums && checksumHeaders(body);
    const request: S3Request = { ...this.#partRequest(part), call: "part", body, ...(headers && { headers }) };
    const answer = await this.#started.client.send(request).catch((error) => {
      this.#hasBrokenOff = true;
      throw error;
    });
    await answer.discard();
    this.#etags[part - 1] = answer.header("etag") ?? "";
    if (this.#checksums && headers) this.#checksums[part - 1] = headers["x-amz-checksum-crc32"] ?? "";
    this.#size += body.length;
  }

  /** Copies a part inside the store. `headers` name the range of another object to copy. */
  async putCopy(part: number, headers: Readonly<Record<string, string>>, size: number): Promise<void> {
    const xml = await this.#started.client.sendForText({
      ...this.#partRequest(part),
      call: "copy",
      headers,
      root: "CopyPartResult",
    });
    this.#etags[part - 1] = elementText(xml, "ETag") ?? "";
    this.#size += size;
  }

  #partRequest(part: number) {
    const { key, uploadId } = this.#started;
    const query = { partNumber: String(part), uploadId };
    return { method: "PUT", key, query, signal: this.#call.signal } as const;
  }

  async finish(): Promise<Entry> {
    const { client, key } = this.#started;
    const etag = () => etagOfParts(this.#etags);
    let attempts = 0;
    const entry = await unlessWritten(client, key, etag, (onAttempt) =>
      this.#complete((attempt) => {
        attempts = attempt;
        onAttempt(attempt);
      }),
    );
    if (attempts > 1) await untilThere(client, key, entry, this.#call.signal);
    await this.#removeLost();
    return entry;
  }

  async #complete(onAttempt: (attempt: number) => void): Promise<Entry> {
    const { client, key, uploadId } = this.#started;
    const text = await client.sendForText({
      call: "complete",
      method: "POST",
      key,
      query: { uploadId },
      headers: { "content-type": "application/xml", ...conditionsOf(this.#call) },
      root: "CompleteMultipartUploadResult",
      body: Buffer.from(completionXml(this.#etags, this.#checksums)),
      signal: this.#call.signal,
      onAttempt,
    });
    // Some stores send no ETag, so it is computed.
    const etag = (elementText(text, "ETag") ?? "").replaceAll('"', "") || etagOfParts(this.#etags);
    return { path: key, size: this.#size, etag, version: "", is_latest: true, last_modified: null, type: "file" };
  }

  /**
   * Removes the upload and its parts from the store. Ignores the caller's signal, because an aborted upload must still
   * be removed.
   */
  async abort(): Promise<void> {
    const abort = this.#hasBrokenOff ? abortUntilGone : abortUpload;
    await abort(this.#started).finally(() => this.#removeLost());
  }

  async #removeLost(): Promise<void> {
    if (!this.#beginning) return;
    const { client, key, uploadId } = this.#started;
    await removeLostUploads(client, key, this.#beginning, uploadId).catch(() => {});
  }
}

function completionXml(etags: readonly string[], checksums: readonly string[] | undefined): string {
  const parts = etags.map((etag, index) => {
    const checksum = checksums ? `<ChecksumCRC32>${checksums[index]}</ChecksumCRC32>` : "";
    return `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeText(etag)}</ETag>${checksum}</Part>`;
  });
  const namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
  return `<CompleteMultipartUpload xmlns="${namespace}">${parts.join("")}</CompleteMultipartUpload>`;
}
