/**
 * Writes small objects in one request. Writes large objects and streams in parallel parts. After a failure, nothing is
 * left in the store.
 */
import type { Backend, Entry, Transfer, Upload } from "../backend.ts";
import { runAll } from "../concurrency/window.ts";
import { StorageError } from "../errors.ts";
import type { UploadOptions, WriteContent, WriteOptions } from "../options.ts";
import { partsOf, wholeContent } from "./content.ts";

export async function writeObject(
  backend: Backend,
  key: string,
  content: WriteContent,
  options: UploadOptions,
): Promise<Entry> {
  const whole = wholeContent(content);
  if (whole && whole.length <= backend.transfer.wholeUpTo) return putWhole(backend, key, whole, options);
  const size = whole?.length ?? (content instanceof Blob ? content.size : options.size);
  const parts = partsOf(whole ?? content, partSizes(backend.transfer, options, size), options.signal);
  const first = await parts.next();
  const second = await parts.next();
  if (second.done) return putWhole(backend, key, first.value ?? new Uint8Array(), options);
  return writeParts(backend, key, chain([first.value as Uint8Array, second.value], parts), options);
}

export async function putWhole(
  backend: Backend,
  key: string,
  bytes: Uint8Array,
  { onBytes, ...call }: UploadOptions,
): Promise<Entry> {
  checkSize(key, call, bytes.length);
  const entry = await backend.put(key, bytes, call);
  onBytes?.(bytes.length);
  return entry;
}

async function* chain(first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* rest;
}

async function writeParts(
  backend: Backend,
  key: string,
  parts: AsyncIterable<Uint8Array>,
  options: UploadOptions,
): Promise<Entry> {
  return inUpload(backend, key, options, (put) => {
    let number = 0;
    return runAll(parts, widthOf(backend.transfer, options), async (bytes) => {
      number += 1;
      if (number > backend.transfer.maximumParts) throw tooManyParts(backend.transfer, key);
      await put(number, bytes);
    });
  });
}

/** Returns the error for content that needs too many parts. This happens only for streams of unknown length. */
const tooManyParts = ({ maximumParts }: Transfer, key: string) =>
  new StorageError(
    "invalid",
    `${key} needs more than ${maximumParts} parts: pass the size of the content, or a larger partSize`,
    {
      key,
    },
  );

/**
 * Starts an upload, lets `run` put the parts, and finishes the upload. The first failure stops the other parts and
 * aborts the upload.
 */
export async function inUpload(
  backend: Backend,
  key: string,
  { onBytes, ...options }: UploadOptions,
  run: (put: Upload["put"]) => Promise<void>,
): Promise<Entry> {
  refuseSmallParts(backend.transfer, options);
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const size = knownSize(options);
  const upload = await backend.upload(key, { ...options, size, signal });
  let total = 0;
  try {
    await run(async (part, bytes) => {
      signal.throwIfAborted();
      total += bytes.length;
      if (total > (size ?? total)) checkSize(key, options, total);
      await upload.put(part, bytes).catch((error: unknown) => {
        stop.abort(error);
        throw error;
      });
      onBytes?.(bytes.length);
    });
    checkSize(key, options, total);
    return await upload.finish();
  } catch (error) {
    // The caller needs the first failure; a failed abort would only hide it.
    await upload.abort().catch(() => {});
    throw options.signal?.aborted ? options.signal.reason : error;
  }
}

/** Returns the size. Returns undefined for Infinity, which callers pass if the size is unknown. */
const knownSize = ({ size }: Pick<WriteOptions, "size">) => (Number.isFinite(size) ? size : undefined);

/**
 * Throws if the number of bytes differs from the size that the caller gave, so that a truncated source is not stored as
 * if it were complete.
 */
export function checkSize(key: string, options: Pick<WriteOptions, "size">, total: number): void {
  const size = knownSize(options);
  if (size === undefined || size === total) return;
  const message = `${key}: the given size is ${size} bytes, but the content has ${total > size ? "more" : `only ${total}`}; give the right size, or omit it`;
  throw new StorageError("invalid", message, { key });
}

const widthOf = (transfer: Transfer, options: WriteOptions) =>
  transfer.partsInOrder ? 1 : (options.concurrency ?? transfer.concurrency);

function refuseSmallParts({ minimumPart, partSize }: Transfer, options: WriteOptions): void {
  const size = options.partSize ?? partSize;
  if (size < minimumPart) {
    throw new StorageError(
      "invalid",
      `parts of ${size} bytes are too small: the store requires at least ${minimumPart} bytes; choose a larger part size`,
    );
  }
}

/**
 * Returns a function that gives the size of a part by its number. If the length is known, all parts have the same size.
 * Otherwise the size doubles repeatedly after the first half of the allowed parts, so that even a long stream does not
 * need too many parts.
 */
export function partSizes(
  transfer: Transfer,
  options: WriteOptions,
  length: number | undefined,
): (part: number) => number {
  const base = options.partSize ?? transfer.partSize;
  if (length !== undefined && Number.isFinite(length)) {
    const size = Math.max(base, Math.ceil(length / transfer.maximumParts));
    return () => size;
  }
  const step = Math.floor(transfer.maximumParts / 10);
  return (part) => base * 2 ** Math.max(0, Math.floor((part - 1) / step) - 4);
}
