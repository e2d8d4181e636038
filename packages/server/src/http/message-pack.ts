/** MessagePack as the client reads it: times are its extension 42. */
import { ExtensionCodec, encode } from "@msgpack/msgpack";

const codec = new ExtensionCodec();

/** Seconds since 1970 and the offset from UTC, both big-endian. */
codec.register({
  type: 42,
  encode(value) {
    if (!(value instanceof Date)) return null;
    const bytes = Buffer.alloc(12);
    bytes.writeDoubleBE(value.getTime() / 1000);
    return bytes;
  },
  decode: () => undefined,
});

export const messagePack = (value: unknown): Buffer => Buffer.from(encode(value, { extensionCodec: codec }));
