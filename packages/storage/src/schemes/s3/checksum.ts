/** Checksums that the store keeps with objects. Sends them with writes, and compares them after reads. */
import { createHash, type Hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Content, ReadCall } from "../../backend.ts";
import { describePlace, type ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import type { S3Client } from "./client.ts";

export const writesChecksums = ({ configuration }: S3Client) =>
  configuration.values["config_kwargs.request_checksum_calculation"] === "when_supported";

/** Returns a CRC-32 in the form that the store uses: four bytes, big-endian, in base 64. */
export function crc32Text(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString("base64");
}

/** Returns the checksum headers of a write. */
export const checksumHeaders = (body: Uint8Array): Record<string, string> => ({
  "x-amz-sdk-checksum-algorithm": "CRC32",
  "x-amz-checksum-crc32": crc32Text(crc32(body)),
});

export const noWish: Record<string, string> = {};

/**
 * Returns the header that requests a checksum. Only for reads of whole objects, because the store has no checksums of
 * ranges.
 */
export function checksumWish({ configuration }: S3Client, { start, end }: ReadCall): Record<string, string> {
  const isWished = configuration.values["config_kwargs.response_checksum_validation"] === "when_supported";
  return isWished && !start && end === undefined ? { "x-amz-checksum-mode": "ENABLED" } : noWish;
}

interface Sum {
  update(bytes: Uint8Array): void;
  text(): string;
}

const sums: Readonly<Record<string, () => Sum>> = {
  "x-amz-checksum-crc32": () => {
    let value = 0;
    return {
      update(bytes) {
        value = crc32(bytes, value);
      },
      text: () => crc32Text(value),
    };
  },
  "x-amz-checksum-sha1": () => sumOf(createHash("sha1")),
  "x-amz-checksum-sha256": () => sumOf(createHash("sha256")),
};

const sumOf = (hash: Hash): Sum => ({ update: (bytes) => void hash.update(bytes), text: () => hash.digest("base64") });

/**
 * Returns content that is checked while it is read. If the answer has a checksum of the whole object, the checksum is
 * compared before the last bytes are passed on. If it does not match, the read fails.
 */
export function checked(content: Content, answer: HttpAnswer, place: ErrorPlace): Content {
  const name = Object.keys(sums).find((header) => answer.header(header) !== undefined);
  const expected = name && answer.header(name);
  // The checksum of a multipart object is a checksum of checksums, which cannot be verified here; it ends with `-` and
  // the number of parts.
  if (!name || !expected || expected.includes("-") || answer.status !== 200) return content;
  const sum = (sums[name] as () => Sum)();
  const body = checkedPieces(content, sum, () => {
    if (sum.text() === expected) return;
    const message = `${describePlace(place)}: the received bytes do not match the store's checksum (${name}); read the object again`;
    throw new StorageError("failed", message, place);
  });
  const { entry, start, end } = content;
  return { entry, start, end, body, close: () => content.close?.() };
}

async function* checkedPieces(content: Content, sum: Sum, check: () => void): AsyncGenerator<Uint8Array> {
  let left = content.end - content.start;
  if (left === 0) check();
  for await (const piece of content.body) {
    sum.update(piece);
    left -= piece.length;
    if (left === 0) check();
    yield piece;
  }
}
