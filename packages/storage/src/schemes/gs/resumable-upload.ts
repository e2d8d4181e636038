/**
 * Writes an object in parts, one after the other, in a resumable upload session. The store requires that every part
 * except the last is a multiple of 256 KiB, and that the last part states the size of the object. If the caller states
 * the size in advance, parts are sent as they arrive. Otherwise each part is held back until the next part arrives,
 * because the part held back may be the last. Bytes beyond a multiple of 256 KiB are sent with the next part.
 */
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { retry } from "../../concurrency/retry.ts";
import { StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { parseJson } from "../../http/parse-answer.ts";
import { givenAddress } from "../../http/redirect.ts";
import type { GsClient } from "./client.ts";
import { Checksum, checkWritten } from "./consistency.ts";
import { type ObjectResource, toEntry, writtenFields } from "./object-resource.ts";
import { checkType, conditionsOf, describe } from "./write.ts";

export const partUnit = 256 * 1024;

export async function beginUpload(client: GsClient, key: string, call: WriteCall): Promise<Upload> {
  checkType(client, key, call);
  const conditions = await conditionsOf(client, key, call);
  const answer = await client.send({
    method: "POST",
    path: client.uploadPath,
    key,
    query: { uploadType: "resumable", name: key, fields: writtenFields, ...conditions },
    headers: { "content-type": "application/json; charset=UTF-8" },
    body: Buffer.from(JSON.stringify({ name: key, ...describe(call) })),
    signal: call.signal,
  });
  await answer.discard();
  const session = answer.header("location");
  if (session === undefined) {
    throw new StorageError(
      "failed",
      `gs://${client.bucket}/${key}: the store did not start the upload: its answer contains no upload address; write the object again`,
      client.place(key),
    );
  }
  return new ResumableUpload(client, key, givenAddress(session, client.place(key)).href, call);
}

class ResumableUpload implements Upload {
  readonly #client: GsClient;
  readonly #key: string;
  readonly #session: string;
  readonly #call: WriteCall;
  readonly #checksum: Checksum;
  /** The bytes that are held back, because they may be the last ones of the object. */
  #held: Buffer = Buffer.alloc(0);
  /**
   * Memory that the next part may be copied into when `sending` has settled. Until then, it holds the part that is
   * being sent.
   */
  #unused: Buffer = Buffer.alloc(0);
  /** Settles when the previous part has been sent. The next part may arrive before that. */
  #sending: Promise<unknown> = Promise.resolve();
  /** Number of bytes that the store has confirmed. */
  #sent = 0;

  constructor(client: GsClient, key: string, session: string, call: WriteCall) {
    this.#client = client;
    this.#key = key;
    this.#session = session;
    this.#call = call;
    this.#checksum = new Checksum(client.configuration.values.consistency);
  }

  async put(_part: number, bytes: Uint8Array): Promise<void> {
    this.#checksum.add(bytes);
    await this.#sending;
    if (this.#held.length > 0 || !this.#isSendable(bytes)) return this.#hold(bytes);
    this.#sending = this.#sendAll(bytes, "*");
    await this.#sending;
  }

  /**
   * Whether a part can be sent as soon as it arrives. The last part cannot, because it would complete the object before
   * the size of the content has been checked.
   */
  #isSendable({ length }: Uint8Array): boolean {
    const { size } = this.#call;
    return size !== undefined && length % partUnit === 0 && this.#sent + length < size;
  }

  /**
   * Holds back a part, and sends the part that was held back before. Copies the bytes, because the caller reuses its
   * buffer.
   */
  #hold(bytes: Uint8Array): void {
    const before = this.#held;
    const whole = before.length - (before.length % partUnit);
    this.#held = join(this.#unused, before.subarray(whole), bytes);
    this.#unused = before;
    if (whole === 0) return;
    this.#sending = this.#sendAll(before.subarray(0, whole), "*");
    // If this request fails, the next call of `put` or `finish` throws the error.
    this.#sending.catch(() => {});
  }

  async finish(): Promise<Entry> {
    await this.#sending;
    const answer = await this.#sendAll(this.#held, String(this.#sent + this.#held.length));
    if (!answer)
      throw new StorageError(
        "failed",
        `gs://${this.#client.bucket}/${this.#key}: the store did not complete the upload; write the object again`,
      );
    const written = await parseJson<ObjectResource>(answer, this.#client.place(this.#key));
    await checkWritten(this.#client, written, this.#checksum);
    return toEntry(written);
  }

  /**
   * Removes the upload and its parts from the store. Ignores the caller's signal, because an aborted upload must still
   * be removed.
   */
  async abort(): Promise<void> {
    await this.#sending.catch(() => {});
    const answer = await this.#client.sendToUrl(this.#session, { method: "DELETE", headers: {} }, this.#key);
    await answer.discard();
  }

  /**
   * Sends bytes until the store has accepted all of them, because the store may accept only some bytes of a request.
   * Returns the answer that completes the upload, or undefined if the upload is not complete.
   */
  async #sendAll(bytes: Uint8Array, total: string): Promise<HttpAnswer | undefined> {
    const start = this.#sent;
    const end = start + bytes.length;
    for (;;) {
      const ended = await retry(this.#client.retryPolicy, this.#call.signal, async (attempt) => {
        const before = attempt > 1 ? await this.#askHowMuch() : undefined;
        if (before || this.#sent >= end) return before;
        if (this.#sent < start) throw this.#forgotten();
        return this.#send(bytes.subarray(this.#sent - start), end, total);
      });
      if (ended || this.#sent >= end) return ended;
    }
  }

  #forgotten(): StorageError {
    const message = `gs://${this.#client.bucket}/${this.#key}: the store lost a part that it had accepted; write the object again`;
    return new StorageError("failed", message, this.#client.place(this.#key));
  }

  async #send(body: Uint8Array, end: number, total: string): Promise<HttpAnswer | undefined> {
    const before = this.#sent;
    const ended = await this.#ask(`bytes ${before}-${end - 1}/${total}`, body);
    if (ended || this.#sent > before) return ended;
    throw new StorageError(
      "network",
      `gs://${this.#client.bucket}/${this.#key}: the store accepted none of the bytes; write the object again`,
    );
  }

  /**
   * Asks the store how many bytes it has received. Called after a request has broken off. Returns the answer if the
   * upload is already complete, otherwise undefined.
   */
  #askHowMuch(): Promise<HttpAnswer | undefined> {
    return this.#ask("bytes */*");
  }

  async #ask(range: string, body?: Uint8Array): Promise<HttpAnswer | undefined> {
    const headers = { "content-range": range };
    const request = { method: "PUT", headers, body, signal: this.#call.signal } as const;
    return this.#take(await this.#client.sendToUrl(this.#session, request, this.#key));
  }

  async #take(answer: HttpAnswer): Promise<HttpAnswer | undefined> {
    if (answer.status < 300) return answer;
    if (answer.status !== 308) throw await this.#client.toError(this.#key, answer);
    await answer.discard();
    const last = /bytes=0-(\d+)/.exec(answer.header("range") ?? "")?.[1];
    this.#sent = last === undefined ? 0 : Number(last) + 1;
    return undefined;
  }
}

/** Returns the two pieces as one. Copies them into `space` if `space` is large enough, otherwise into a new buffer. */
function join(space: Buffer, first: Uint8Array, second: Uint8Array): Buffer {
  const length = first.length + second.length;
  const target = space.length >= length ? space.subarray(0, length) : Buffer.allocUnsafeSlow(length);
  target.set(first);
  target.set(second, first.length);
  return target;
}
