/** Encodes answers as MessagePack, in the form that the client reads. */
import { ExtData, encode } from "@msgpack/msgpack";

export const messagePack = (value: unknown): Buffer => Buffer.from(encode(value));

/** Encodes a time as the client's extension type 42: seconds since 1970 and the offset from UTC, both big-endian. */
export function packedTime(time: Date): ExtData {
  const bytes = Buffer.alloc(12);
  bytes.writeDoubleBE(time.getTime() / 1000);
  return new ExtData(42, bytes);
}
