/** Writes a blob in one request, or in blocks. Blocks stay invisible until the list of all blocks is written. */
import { randomUUID } from "node:crypto";
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { checkDescription, type NameRule } from "../../http/header-text.ts";
import type { AzClient } from "./client.ts";
import { toEntry } from "./read.ts";

export async function putBlob(client: AzClient, key: string, body: Uint8Array, call: WriteCall): Promise<Entry> {
  const headers = { "x-ms-blob-type": "BlockBlob", ...headersOf(client, key, call), ...conditionsOf(call) };
  const answer = await client.send({ method: "PUT", key, headers, body, signal: call.signal, transfer: true });
  await answer.discard();
  return { ...toEntry(key, answer), size: body.length };
}

/** The store accepts only C# identifiers as metadata names. */
const identifiers: NameRule = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
  meaning: "letters, digits and underscores, not beginning with a digit",
};

function headersOf(client: AzClient, key: string, call: WriteCall): Record<string, string> {
  checkDescription(call, identifiers, client.place(key));
  const { contentType, metadata = {} } = call;
  const headers: Record<string, string> = {};
  if (contentType !== undefined) headers["x-ms-blob-content-type"] = contentType;
  for (const [name, value] of Object.entries(metadata)) headers[`x-ms-meta-${name.toLowerCase()}`] = value;
  return headers;
}

function conditionsOf(call: WriteCall): Record<string, string> {
  if (call.ifNoneMatch !== undefined) return { "if-none-match": call.ifNoneMatch };
  return call.ifMatch === undefined ? {} : { "if-match": `"${call.ifMatch}"` };
}

/** An upload in blocks. The first block starts the upload; the store needs no earlier request. */
export class BlockUpload implements Upload {
  readonly #client: AzClient;
  readonly #key: string;
  readonly #call: WriteCall;
  /**
   * Headers of the block list. They are built before the first block is sent, so that an invalid header is reported at
   * once.
   */
  readonly #headers: Readonly<Record<string, string>>;
  /**
   * A part of every block id that is unique to this upload, so that two writers of one blob do not commit each other's
   * blocks.
   */
  readonly #writer = randomUUID();
  #blocks = 0;
  #size = 0;

  constructor(client: AzClient, key: string, call: WriteCall) {
    this.#client = client;
    this.#key = key;
    this.#call = call;
    this.#headers = { ...headersOf(client, key, call), ...conditionsOf(call) };
  }

  async put(part: number, body: Uint8Array): Promise<void> {
    const query = { comp: "block", blockid: this.#blockId(part) };
    const { signal } = this.#call;
    const answer = await this.#client.send({ method: "PUT", key: this.#key, query, body, signal, transfer: true });
    await answer.discard();
    this.#blocks = Math.max(this.#blocks, part);
    this.#size += body.length;
  }

  async finish(): Promise<Entry> {
    const ids = Array.from({ length: this.#blocks }, (_, index) => `<Latest>${this.#blockId(index + 1)}</Latest>`);
    const answer = await this.#client.send({
      method: "PUT",
      key: this.#key,
      query: { comp: "blocklist" },
      headers: { "content-type": "application/xml", ...this.#headers },
      body: Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${ids.join("")}</BlockList>`),
      signal: this.#call.signal,
      transfer: true,
    });
    await answer.discard();
    return { ...toEntry(this.#key, answer), size: this.#size };
  }

  /**
   * Does nothing, because the store has no call that aborts an upload. The store drops uncommitted blocks after a week,
   * or at the next write of the blob.
   */
  async abort(): Promise<void> {}

  /** Returns the id of a block. All ids have the same length, as the store requires. */
  #blockId(part: number): string {
    return Buffer.from(`${this.#writer}-${String(part).padStart(6, "0")}`).toString("base64");
  }
}
