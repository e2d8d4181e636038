/** Reads files through fsspec. The Python process sends bytes only as fast as they are read here. */
import type { ByteRange, Content, ReadCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import type { Call } from "./call.ts";
import { checkPath, entryOf, type ToldEntry } from "./list.ts";
import type { Place } from "./place.ts";

interface Head extends ToldEntry, ByteRange {}

export async function readFile(place: Place, key: string, call: ReadCall): Promise<Content> {
  if (place.relative(key) !== "") checkPath(place, key);
  const { start = 0, end = Number.POSITIVE_INFINITY, signal, ifMatch } = call;
  const range = { start, end: Number.isFinite(end) ? end : null };
  const reading = await place.begin("read", { action: "read", key, members: range }, { signal });
  const frame = await reading.next();
  const head = JSON.parse(frame?.payload.toString() ?? "{}") as Head;
  if (ifMatch !== undefined && ifMatch !== head.etag) {
    reading.cancel();
    throw new StorageError(
      "precondition",
      `${key} was replaced: its ETag is no longer the expected one; read the new file from its start`,
      place.of(key),
    );
  }
  const close = () => reading.cancel();
  return { entry: entryOf(key, head), start: head.start, end: head.end, body: pieces(reading), close };
}

async function* pieces(reading: Call): AsyncGenerator<Uint8Array> {
  try {
    for (let frame = await reading.next(); frame; frame = await reading.next()) yield frame.payload;
  } finally {
    reading.cancel();
  }
}
