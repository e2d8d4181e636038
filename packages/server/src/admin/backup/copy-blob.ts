/** Copies a blob into a backup. */
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BlobMissing, type Blobs, type Measured, Meter } from "../../blobs/blobs.ts";
import { copyPlain } from "./archive-files.ts";

/** Returns the size and digest of the copy; undefined if the blob does not exist. */
export async function copyBlob(blobs: Blobs, name: string, target: string): Promise<Measured | undefined> {
  try {
    if (blobs.isLocal) return await copyPlain(await blobs.fetch(name), target);
    const opened = await blobs.open(name);
    const meter = new Meter(opened.stream());
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await pipeline(Readable.from(meter.bytes()), createWriteStream(target, { flags: "wx", mode: 0o600 }));
    return meter.measured();
  } catch (error) {
    if (error instanceof BlobMissing) return undefined;
    throw error;
  }
}
