/** Uploads content to LFS: announces it, sends it whole or in parts to the given addresses, and confirms it. */
import type { CallOptions } from "../../backend.ts";
import { runAll } from "../../concurrency/window.ts";
import { StorageError } from "../../errors.ts";
import { parseJson } from "../../http/parse-answer.ts";
import type { HubClient } from "./client.ts";
import type { Source } from "./source.ts";

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
export async function uploadContent(client: HubClient, key: string, source: Source, call: CallOptions): Promise<void> {
  const { sha256: oid, size } = source;
  const url = await client.fileUrl(".git/info/lfs/objects/batch");
  const asked = {
    operation: "upload",
    transfers: ["basic", "multipart"],
    hash_algo: "sha256",
    objects: [{ oid, size }],
  };
  const { answer } = await client.send({ method: "POST", url, key, ...json(asked), signal: call.signal });
  const [object] = (await parseJson<BatchAnswer>(answer, client.place(key))).objects;
  if (object?.error) throw new StorageError("failed", `${key}: ${object.error.message}`, client.place(key));
  const { upload, verify } = object?.actions ?? {};
  if (!upload) return;
  if (upload.header?.["chunk_size"]) await sendParts(client, key, source, upload, call);
  else await sendRange(client, key, source, { url: upload.href, start: 0, end: size }, call);
  if (verify) await confirm(client, key, verify.href, { oid, size }, call);
}

const json = (value: object) => ({
  headers: { accept: lfsType, "content-type": lfsType },
  body: Buffer.from(JSON.stringify(value)),
});

/** Sends the parts. The hub gives the presigned URL of each part in a header whose name is the number of the part. */
async function sendParts(
  client: HubClient,
  key: string,
  source: Source,
  { href, header = {} }: Action,
  call: CallOptions,
): Promise<void> {
  const partSize = Number(header["chunk_size"]);
  const numbers = Object.keys(header).filter((name) => /^\d+$/.test(name));
  const parts: { partNumber: number; etag: string }[] = [];
  await runAll(numbers, partsAtOnce, async (name) => {
    const start = (Number(name) - 1) * partSize;
    const range = { url: header[name] as string, start, end: Math.min(start + partSize, source.size) };
    const etag = await sendRange(client, key, source, range, call);
    parts.push({ partNumber: Number(name), etag });
  });
  const body = { oid: source.sha256, parts: parts.sort((a, b) => a.partNumber - b.partNumber) };
  const { answer } = await client.send({
    method: "POST",
    url: href,
    key,
    ...json(body),
    signal: call.signal,
    isSigned: true,
  });
  await answer.discard();
}

async function sendRange(
  client: HubClient,
  key: string,
  source: Source,
  { url, start, end }: { url: string; start: number; end: number },
  { signal }: CallOptions,
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

async function confirm(client: HubClient, key: string, url: string, body: object, call: CallOptions): Promise<void> {
  const { answer } = await client.send({ method: "POST", url, key, ...json(body), signal: call.signal });
  await answer.discard();
}
