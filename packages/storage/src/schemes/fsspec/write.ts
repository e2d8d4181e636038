/** Writes files through fsspec. Bytes are sent only as fast as the Python process writes them. */
import { temporaryName } from "../../address/temporary-name.ts";
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { putAtOnce } from "../../transfer/sequential-upload.ts";
import { checkPath, entryOf, type ToldEntry } from "./list.ts";
import type { Place } from "./place.ts";

export async function putFile(place: Place, key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry> {
  return putAtOnce(await beginUpload(place, key, call), bytes);
}

export async function beginUpload(place: Place, key: string, { signal }: WriteCall): Promise<Upload> {
  if (place.relative(key) !== "") checkPath(place, key);
  const beside = temporaryName(key.slice(key.lastIndexOf("/") + 1));
  const writing = await place.begin("write", { action: "write", key, members: { beside } }, { signal });
  return {
    put: (_part, bytes) => writing.send(bytes),
    async finish() {
      writing.end();
      return entryOf(key, (await writing.result()) as ToldEntry);
    },
    abort: () => writing.cancelled(),
  };
}
