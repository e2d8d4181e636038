/** Computes CRC-32C, which Node lacks. Processes four bytes at a time with tables. */

const polynomial = 0x82f63b78;

function createTables(): readonly Uint32Array[] {
  const tables = Array.from({ length: 4 }, () => new Uint32Array(256));
  for (let byte = 0; byte < 256; byte += 1) {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1;
    (tables[0] as Uint32Array)[byte] = value;
  }
  for (let table = 1; table < 4; table += 1) {
    for (let byte = 0; byte < 256; byte += 1) {
      const before = (tables[table - 1] as Uint32Array)[byte] as number;
      (tables[table] as Uint32Array)[byte] = (before >>> 8) ^ ((tables[0] as Uint32Array)[before & 0xff] as number);
    }
  }
  return tables;
}

const [one, two, three, four] = createTables() as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

export class Crc32c {
  #value = 0xffffffff;

  update(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let value = this.#value;
    let at = 0;
    for (; at + 4 <= bytes.length; at += 4) {
      value ^= view.getUint32(at, true);
      value =
        (four[value & 0xff] as number) ^
        (three[(value >>> 8) & 0xff] as number) ^
        (two[(value >>> 16) & 0xff] as number) ^
        (one[value >>> 24] as number);
    }
    for (; at < bytes.length; at += 1) value = (value >>> 8) ^ (one[(value ^ (bytes[at] as number)) & 0xff] as number);
    this.#value = value;
  }

  /** Returns the checksum as the store writes it: big-endian, in base 64. */
  digest(): string {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE((this.#value ^ 0xffffffff) >>> 0);
    return bytes.toString("base64");
  }
}
