/**
 * Uploads content to LFS. Announces the content to the hub, sends it whole or in parts to the URLs that the hub
 * returns, and confirms the upload.
 */
import type { ByteRange, CallOptions } from "../../backend.ts";
import { runAll } from "../../concurrency/window.ts";
import { StorageError } from "../../errors.ts";
import { parseJson } from "../../http/parse-answer.ts";
import type { HubClient } from "./client.ts";
import type { Source } from "./source.ts";

/** An upload of the content of one file to LFS. */
export interface LfsUpload extends CallOptions {
  readonly client: HubClient;
  /** Key of the file, for error messages. */
  readonly key: string;
  readonly source: Source;
}

/** A range of the content, and the presigned URL that receives it. */
interface AddressedRange extends ByteRange {
  readonly url: string;
}

interface Action {
  readonly href: string;
  readonly header?: Readonly<Record<string, string>>;
}

interface BatchAnswer {
  readonly objects: readonly {
    readonly actions?: { readonly upload?: Action; readonly verify?: Action };
    readonly error?: { readonly code: number; readonly message: string };
  }[];
}

const partsAtOnce = 4;
const lfsType = "application/vnd.git-lfs+json";

/** Uploads content, unless the hub already has it. */
export async function uploadContent(upload: LfsUpload): Promise<void> {
  const { client, key, source, signal } = upload;
  const { sha256: oid, size } = source;
  const url = await client.fileUrl(".git/info/lfs/objects/batch");
  const asked = {
    operation: "upload",
    transfers: ["basic", "multipart"],
    hash_algo: "sha256",
    objects: [{ oid, size }],
  };
  const { answer } = await client.send({ method: "POST", url, key, ...json(asked), signal });
  const [object] = (await parseJson<BatchAnswer>(answer, client.place(key))).objects;
  if (object?.error)
    throw new StorageError("failed", `${key}: the hub refused the upload: ${object.error.message}`, client.place(key));
  const { upload: action, verify } = object?.actions ?? {};
  if (!action) return;
  if (action.header?.["chunk_size"]) await sendParts(upload, action);
  else await sendRange(upload, { url: action.href, start: 0, end: size });
  if (verify) await confirm(upload, verify.href, { oid, size });
}

const json = (value: object) => ({
  headers: { accept: lfsType, "content-type": lfsType },
  body: Buffer.from(JSON.stringify(value)),
});

/**
 * Sends the content in parts. The hub's answer has a header for each part. The name of the header is the number of the
 * part, and its value is the presigned URL.
 */
async function sendParts(upload: LfsUpload, { href, header = {} }: Action): Promise<void> {
  const { client, key, source, signal } = upload;
  const partSize = Number(header["chunk_size"]);
  const numbers = Object.keys(header).filter((name) => /^\d+$/.test(name));
  const parts: { partNumber: number; etag: string }[] = [];
  await runAll(numbers, partsAtOnce, async (name) => {
    const start = (Number(name) - 1) * partSize;
    const range = { url: header[name] as string, start, end: Math.min(start + partSize, source.size) };
    const etag = await sendRange(upload, range);
    parts.push({ partNumber: Number(name), etag });
  });
  const body = { oid: source.sha256, parts: parts.sort((a, b) => a.partNumber - b.partNumber) };
  const { answer } = await client.send({
    method: "POST",
    url: href,
    key,
    ...json(body),
    signal,
    isSigned: true,
  });
  await answer.discard();
}

async function sendRange(
  { client, key, source, signal }: LfsUpload,
  { url, start, end }: AddressedRange,
): Promise<string> {
  const { answer } = await client.send({
    method: "PUT",
    url,
    key,
    headers: { "content-length": String(end - start) },
    // Empty content is not sent as a stream, because `stream` always reads at least one byte.
    ...(end === start ? { body: new Uint8Array() } : { stream: () => source.stream(start, end) }),
    signal,
    isSigned: true,
  });
  await answer.discard();
  return answer.header("etag") ?? "";
}

async function confirm({ client, key, signal }: LfsUpload, url: string, body: object): Promise<void> {
  const { answer } = await client.send({ method: "POST", url, key, ...json(body), signal });
  await answer.discard();
}
