/** `consistency`: verifies that the store holds what was sent, by size or by checksum. */
import { createHash, type Hash } from "node:crypto";
import { StorageError } from "../../errors.ts";
import type { GsClient } from "./client.ts";
import { Crc32c } from "./crc32c.ts";
import type { ObjectResource } from "./object-resource.ts";

export class Checksum {
  readonly #md5: Hash | undefined;
  /**
   * CRC-32C of the bytes that were sent; set only if `consistency` is md5. It is compared if the object is composite,
   * because composite objects have no MD5.
   */
  readonly #crc32c: Crc32c | undefined;
  readonly #checksSize: boolean;
  #size = 0;

  constructor(consistency: string | null) {
    this.#checksSize = consistency === "size" || consistency === "md5";
    if (consistency !== "md5") return;
    this.#md5 = createHash("md5");
    this.#crc32c = new Crc32c();
  }

  add(bytes: Uint8Array): void {
    this.#size += bytes.length;
    this.#md5?.update(bytes);
    this.#crc32c?.update(bytes);
  }

  /** Returns how the object in the store differs from what was sent, or undefined if it does not differ. */
  complaint(written: ObjectResource): string | undefined {
    if (this.#checksSize && Number(written.size) !== this.#size)
      return `${written.size} bytes instead of ${this.#size}`;
    if (!this.#md5 || !this.#crc32c) return undefined;
    const [name, kept, sent] =
      written.md5Hash === undefined
        ? ["CRC32C", written.crc32c, this.#crc32c.digest()]
        : ["MD5", written.md5Hash, this.#md5.digest("base64")];
    return kept === sent ? undefined : `another ${name} than the bytes that were sent`;
  }
}

/**
 * If the object in the store differs from what was sent, removes the object and throws. Removes only the generation
 * that was just written, not a later one.
 */
export async function checkWritten(client: GsClient, written: ObjectResource, checksum: Checksum): Promise<void> {
  const complaint = checksum.complaint(written);
  if (complaint === undefined) return;
  const key = written.name;
  const query = { generation: written.generation ?? "" };
  await client.send({ method: "DELETE", path: client.objectPath(key), key, query }).then(
    (answer) => answer.discard(),
    () => {},
  );
  throw new StorageError(
    "failed",
    `gs://${client.bucket}/${key}: the object in the store has ${complaint}; write the object again`,
    {
      ...client.place(key),
      retryable: true,
    },
  );
}
