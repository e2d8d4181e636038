/** Detects the compression of a tar archive from its first bytes, whatever its name. */
import type { Transform } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { ArchiveSource } from "../../archive/outer.ts";
import { StorageError } from "../../errors.ts";

/** Creates a decompressor; undefined if the archive is not compressed. */
export type Decompressor = (() => Transform) | undefined;

const known: readonly { readonly magic: string; readonly name: string; readonly make?: () => Transform }[] = [
  { magic: "1f8b", name: "gzip", make: () => createGunzip() },
  { magic: "28b52ffd", name: "zstd", make: () => createZstdDecompress() },
  { magic: "425a68", name: "bzip2" },
  { magic: "fd377a585a00", name: "xz" },
];

export async function findDecompressor(source: ArchiveSource): Promise<Decompressor> {
  const start = Buffer.from(await source.bytes({ start: 0, end: 6 })).toString("hex");
  const found = known.find(({ magic }) => start.startsWith(magic));
  if (!found || found.make) return found?.make;
  const message = `${source.uri} is compressed with ${found.name}, which tar:// cannot read; open the archive with fsspec+tar://, which needs Python`;
  throw new StorageError("unsupported", message, { scheme: "tar" });
}
