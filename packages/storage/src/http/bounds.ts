/** How much of an answer is kept: a server that means ill, or is broken, sends bytes without an end. */
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Bytes of an answer that is taken in whole because it tells of files, such as a page of a listing. */
export const mostTold = 64 * mebibyte;

/** Bytes of an error: what is longer is cut, as its status says most. */
const mostErrorText = 64 * kibibyte;

/** Bytes that are read away so that a connection can be used again: beyond that a new one costs less. */
export const mostDiscarded = mebibyte;

/** Thrown where the place is not known; `named` says it. */
export class TooLongError extends Error {
  constructor(most: number) {
    const size = most % mebibyte === 0 ? `${most / mebibyte} MiB` : `${most} bytes`;
    super(`the server's answer is longer than ${size}, the most that is taken of it`);
  }

  named(place: ErrorPlace): StorageError {
    return new StorageError("failed", `${describePlace(place)}: ${this.message}`, { ...place, cause: this });
  }
}

/** The `text` of an answer. */
export async function textOf(answer: Pick<HttpAnswer, "status" | "body" | "bytes">): Promise<string> {
  const bytes = answer.status < 300 ? await answer.bytes(mostTold) : await startOf(answer.body, mostErrorText);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

/** Nothing after `most` bytes is waited for. */
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
