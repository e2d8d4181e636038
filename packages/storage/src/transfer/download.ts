/**
 * Reads an object as one body or as parallel ranges. A body that breaks off is resumed. A read never mixes bytes of two
 * versions of an object.
 */
import type { Backend, ByteRange, Content, ReadCall } from "../backend.ts";
import { checkCount } from "../check-count.ts";
import { retry } from "../concurrency/retry.ts";
import { mapInOrder, runAll } from "../concurrency/window.ts";
import { StorageError } from "../errors.ts";
import type { ReadOptions } from "../options.ts";
import { blockOf, type Reading, widthOf } from "./reading.ts";
import { abandon, reopen, SteadyBody } from "./steady-body.ts";

export async function readObject(backend: Backend, key: string, options: ReadOptions): Promise<Uint8Array> {
  checkOptions(options);
  const reading = { backend, key, options };
  const first = await openFirst(reading);
  const wanted = wantedEnd(first, options);
  if (first.end >= wanted) return readWhole(reading, first);
  const target = await allocate(wanted - first.start, first);
  await readRanges(reading, first, async (body, { start, end }) => {
    await body.fill(target.subarray(start - first.start, end - first.start));
  });
  return target;
}

/**
 * Receives the bytes of an object. Supplies empty buffers, and takes filled buffers back with their offset in the
 * object.
 */
export interface Landing {
  /** Returns an empty buffer. Waits while too many buffers are in use. */
  take(): Promise<Buffer>;
  put(buffer: Buffer, length: number, at: number): void;
}

/**
 * Delivers all bytes to the landing, with ranges in parallel and in any order. Returns the number of bytes. `prepare`
 * creates the landing when the object has been found. It receives the number of bytes, or Infinity if the number is
 * unknown.
 */
export async function readInto(
  backend: Backend,
  key: string,
  options: ReadOptions,
  prepare: (expected: number) => Promise<Landing>,
): Promise<number> {
  checkOptions(options);
  const { start = 0, signal } = options;
  const reading = { backend, key, options };
  const first = await openFirst(reading);
  const landing = await prepare(wantedEnd(first, options) - first.start).catch(async (error: unknown) => {
    await abandon(first);
    throw error;
  });
  let bytes = 0;
  await readRanges(reading, first, async (body, range) => {
    for (let at = range.start; at < range.end; ) {
      signal?.throwIfAborted();
      const length = await readPiece(body, landing, at - start, range.end - at);
      if (length === 0) return;
      bytes += length;
      at += length;
    }
  });
  return bytes;
}

/**
 * Reads one piece into a buffer of the landing. Gives the buffer back even after a failure, because another range may
 * wait for a buffer.
 */
async function readPiece(body: SteadyBody, landing: Landing, at: number, wanted: number): Promise<number> {
  const buffer = await landing.take();
  let length = 0;
  try {
    length = await body.fill(buffer.subarray(0, Math.min(buffer.length, wanted)));
  } finally {
    landing.put(buffer, length, at);
  }
  return length;
}

/** Reads all ranges. The first failure stops the others. */
async function readRanges(
  reading: Reading,
  first: Content,
  read: (body: SteadyBody, range: Range) => Promise<void>,
): Promise<void> {
  const { options } = reading;
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const stoppable = { ...reading, options: { ...options, signal } };
  await runAll(rangesOf(reading, first), widthOf(reading), async (range) => {
    try {
      const content = range.content ?? (await reopen(stoppable, first, range));
      const body = new SteadyBody(stoppable, content, range.end);
      await read(body, range).finally(() => body.close());
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  });
}

export async function* streamObject(backend: Backend, key: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
  checkOptions(options);
  const reading = { backend, key, options };
  const first = await openFirst(reading);
  if (first.end >= wantedEnd(first, options)) {
    yield* new SteadyBody(reading, first).pieces();
    return;
  }
  yield* mapInOrder(rangesOf(reading, first), widthOf(reading), async (range) => {
    const content = range.content ?? (await reopen(reading, first, range));
    const target = Buffer.allocUnsafeSlow(range.end - range.start);
    await fillFrom(reading, content, target);
    return target;
  });
}

/** Allocates a buffer. If there is not enough memory, abandons the content and throws. */
async function allocate(size: number, content: Content): Promise<Buffer> {
  try {
    return Buffer.allocUnsafeSlow(size);
  } catch (error) {
    await abandon(content);
    throw error;
  }
}

function checkOptions({ start = 0, end = Number.POSITIVE_INFINITY, concurrency, blockSize }: ReadOptions): void {
  checkCount("concurrency", concurrency);
  checkCount("blockSize", blockSize);
  if (start < 0 || end < start || !Number.isInteger(start) || Number.isNaN(end)) {
    throw new StorageError(
      "invalid",
      `the range from ${start} to ${end} is invalid: the start must be a whole number, 0 or more, and the end must not be before the start`,
    );
  }
}

/**
 * Starts the read. For parallel ranges, requests only the first range. Its answer contains the size of the object, so
 * no `stat` is needed.
 */
async function openFirst(reading: Reading): Promise<Content> {
  const { backend, key, options } = reading;
  const { start = 0, end = Number.POSITIVE_INFINITY } = options;
  const block = blockOf(reading);
  if (widthOf(reading) <= 1 || end - start <= block) return backend.read(key, options);
  const first = await backend.read(key, { ...options, start, end: start + block });
  if (Number.isFinite(first.entry.size) || !Number.isFinite(first.end)) return first;
  // The server does not tell the size, so nobody knows how many ranges there are.
  await abandon(first);
  return backend.read(key, options);
}

/** Returns the offset at which the read ends. If the size is unknown, the read ends with what the server sends. */
const wantedEnd = (first: Content, { end }: ReadCall) =>
  Number.isFinite(first.entry.size)
    ? Math.max(first.start, Math.min(end ?? Number.POSITIVE_INFINITY, first.entry.size))
    : first.end;

interface Range extends ByteRange {
  /** The content of the range, if it is already arriving. Set only for the first range. */
  readonly content?: Content;
}

function* rangesOf(reading: Reading, first: Content): Generator<Range> {
  const block = blockOf(reading);
  const wanted = wantedEnd(first, reading.options);
  yield { start: first.start, end: first.end, content: first };
  for (let start = first.end; start < wanted; start += block) {
    yield { start, end: Math.min(start + block, wanted) };
  }
}

async function readWhole(reading: Reading, content: Content): Promise<Uint8Array> {
  const size = content.end - content.start;
  if (!Number.isFinite(size)) return collect(content.body);
  if (content.bytes && size <= reading.backend.transfer.partSize) return readSmall(reading, content);
  const target = await allocate(size, content);
  await fillFrom(reading, content, target);
  return target;
}

/** Reads a small object. If the body breaks off, reads the object again from the start. */
async function readSmall({ backend, key, options }: Reading, content: Content): Promise<Uint8Array> {
  const size = content.end - content.start;
  const outcome = await retry(backend.transfer.retry, options.signal, async (attempt) => {
    if (attempt === 1) return wholeBytes(key, content, size);
    // An error of this call is not retried here, because the backend has already retried it.
    const again = await backend.read(key, options).catch((error: unknown) => ({ error }));
    if ("error" in again) return again;
    return wholeBytes(key, again, size);
  });
  if ("error" in outcome) throw outcome.error;
  return outcome;
}

/** Reads a body of known size. Throws if the body ends too early. */
async function wholeBytes(key: string, content: Content, size: number): Promise<Uint8Array> {
  const bytes = await (content.bytes?.() ?? collect(content.body));
  if (bytes.length === size) return bytes;
  throw new StorageError("network", `${key}: the store's answer ended after ${bytes.length} of ${size} bytes`, { key });
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Fills the whole target, beginning with this content. */
async function fillFrom(reading: Reading, content: Content, target: Buffer): Promise<void> {
  const body = new SteadyBody(reading, content, content.start + target.length);
  try {
    await body.fill(target);
  } finally {
    await body.close();
  }
}
