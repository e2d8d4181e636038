/** Limits on how much of an answer is kept: a malicious or broken server may send bytes without end. */
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Maximum size in bytes of an answer that is read whole, such as a page of a listing. */
export const mostTold = 64 * mebibyte;

/**
 * Maximum number of bytes that are read of an error's body. The rest is dropped, because the status already tells the
 * kind of error.
 */
const mostErrorText = 64 * kibibyte;

/**
 * Maximum number of bytes of an unwanted body that are read and dropped, so that the connection can be reused. If more
 * bytes are left, a new connection costs less.
 */
export const mostDiscarded = mebibyte;

/** An answer is too long. Thrown by code that does not know the location of the object; `named` adds the location. */
export class TooLongError extends Error {
  constructor(most: number) {
    const size = most % mebibyte === 0 ? `${most / mebibyte} MiB` : `${most} bytes`;
    super(`the server's answer is longer than the limit of ${size}`);
  }

  named(place: ErrorPlace): StorageError {
    return new StorageError("failed", `${describePlace(place)}: ${this.message}`, { ...place, cause: this });
  }
}

/** Reads an answer as text. Of an error, only the first bytes are read. */
export async function textOf(answer: Pick<HttpAnswer, "status" | "body" | "bytes">): Promise<string> {
  const bytes = answer.status < 300 ? await answer.bytes(mostTold) : await startOf(answer.body, mostErrorText);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

/** Reads up to `most` bytes of a body, and drops the rest. */
export async function startOf(body: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > most) break;
  }
  return Buffer.concat(pieces, Math.min(length, most));
}
