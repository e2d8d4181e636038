/** MessagePack as the client reads it. */
import { ExtData, encode } from "@msgpack/msgpack";

export const messagePack = (value: unknown): Buffer => Buffer.from(encode(value));

/** A time is the client's extension 42: seconds since 1970 and the offset from UTC, both big-endian. */
export function packedTime(time: Date): ExtData {
  const bytes = Buffer.alloc(12);
  bytes.writeDoubleBE(time.getTime() / 1000);
  return new ExtData(42, bytes);
}
