/** Reading: one body, taken up again where it broke off, or ranges side by side; never bytes of two different objects. */
import type { Backend, Content, ReadCall } from "./backend.ts";
import { isStorageError, StorageError } from "./errors.ts";
import { retry } from "./retry.ts";
import type { ReadOptions } from "./storage.ts";
import { mapInOrder, runAll } from "./window.ts";

export async function readObject(backend: Backend, key: string, options: ReadOptions): Promise<Uint8Array> {
  checkRange(options);
  const first = await openFirst(backend, key, options);
  const wanted = wantedEnd(first, options);
  if (first.end >= wanted) return readWhole(backend, key, options, first);
  const target = Buffer.allocUnsafeSlow(wanted - first.start);
  await readRanges(backend, key, options, first, (piece, at) => void target.set(piece, at - first.start));
  return target;
}

/** Takes a piece of an object, with its place in it. A sink that is not ready for more returns a promise. */
export type Sink = (piece: Uint8Array, at: number) => Promise<void> | void;

/** Gives every piece to a sink, those of ranges side by side in any order, and returns how many bytes there were. */
export async function readInto(backend: Backend, key: string, options: ReadOptions, sink: Sink): Promise<number> {
  checkRange(options);
  const { start = 0 } = options;
  const first = await openFirst(backend, key, options);
  let bytes = 0;
  await readRanges(backend, key, options, first, (piece, at) => {
    bytes += piece.length;
    return sink(piece, at - start);
  });
  return bytes;
}

async function readRanges(backend: Backend, key: string, options: ReadOptions, first: Content, sink: Sink) {
  const width = options.concurrency ?? backend.transfer.concurrency;
  await withStop(options, (call) =>
    runAll(rangesOf(backend, first, options), width, async (range) => {
      const content = range.content ?? (await openRange(backend, key, call, first, range));
      let at = content.start;
      for await (const piece of resuming(backend, key, call, content)) {
        const full = sink(piece, at);
        at += piece.length;
        if (full) await full;
      }
    }),
  );
}

export async function* streamObject(backend: Backend, key: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
  checkRange(options);
  const first = await openFirst(backend, key, options);
  if (first.end >= wantedEnd(first, options)) {
    yield* resuming(backend, key, options, first);
    return;
  }
  const width = options.concurrency ?? backend.transfer.concurrency;
  yield* mapInOrder(rangesOf(backend, first, options), width, async (range) => {
    const content = range.content ?? (await openRange(backend, key, options, first, range));
    const target = Buffer.allocUnsafeSlow(range.end - range.start);
    await fill(backend, key, options, content, target);
    return target;
  });
}

function checkRange({ start = 0, end = Number.POSITIVE_INFINITY }: ReadCall): void {
  if (start < 0 || end < start || !Number.isInteger(start) || Number.isNaN(end)) {
    throw new StorageError("invalid", `the range from ${start} to ${end} is not one`);
  }
}

/** With ranges side by side only the first is asked for: its answer tells the size, so that nothing is asked before. */
function openFirst(backend: Backend, key: string, options: ReadOptions): Promise<Content> {
  const width = options.concurrency ?? backend.transfer.concurrency;
  const { start = 0, end = Number.POSITIVE_INFINITY } = options;
  const block = options.blockSize ?? backend.transfer.partSize;
  if (width <= 1 || end - start <= block) return backend.read(key, options);
  return backend.read(key, { ...options, start, end: start + block });
}

const wantedEnd = (first: Content, { end }: ReadCall) =>
  Math.max(first.start, Math.min(end ?? Number.POSITIVE_INFINITY, first.entry.size));

interface Range {
  readonly start: number;
  readonly end: number;
  /** The first range is on its way already. */
  readonly content?: Content;
}

function* rangesOf(backend: Backend, first: Content, options: ReadOptions): Generator<Range> {
  const block = options.blockSize ?? backend.transfer.partSize;
  const wanted = wantedEnd(first, options);
  yield { start: first.start, end: first.end, content: first };
  for (let start = first.end; start < wanted; start += block) {
    yield { start, end: Math.min(start + block, wanted) };
  }
}

/** The same object as before, or an error. */
async function openRange(
  backend: Backend,
  key: string,
  call: ReadCall,
  first: Content,
  { start, end }: Pick<Range, "start" | "end">,
): Promise<Content> {
  const { etag, version } = first.entry;
  const pin = { version: call.version ?? (version || undefined), ifMatch: etag || undefined };
  const content = await backend.read(key, { ...call, ...pin, start, end });
  if (content.entry.etag !== etag || content.start !== start) {
    throw new StorageError("precondition", `${key} was replaced while it was read`, { key });
  }
  return content;
}

/** The first failure stops the other ranges. */
async function withStop(options: ReadOptions, run: (call: ReadOptions) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  try {
    await run({ ...options, signal });
  } finally {
    stop.abort();
  }
}

async function readWhole(backend: Backend, key: string, call: ReadCall, content: Content): Promise<Uint8Array> {
  const size = content.end - content.start;
  if (!Number.isFinite(size)) return collect(content.body);
  if (content.bytes && size <= backend.transfer.partSize) return readSmall(backend, key, call, content.bytes, size);
  const target = Buffer.allocUnsafeSlow(size);
  await fill(backend, key, call, content, target);
  return target;
}

/** Small enough to be read again from the start, when it breaks off. */
async function readSmall(
  backend: Backend,
  key: string,
  call: ReadCall,
  bytes: () => Promise<Uint8Array>,
  size: number,
): Promise<Uint8Array> {
  return retry(backend.transfer.retry, call.signal, async (attempt) => {
    if (attempt === 1) return checkLength(key, await bytes(), size);
    const again = await backend.read(key, call);
    return checkLength(key, await (again.bytes?.() ?? collect(again.body)), again.end - again.start);
  });
}

function checkLength(key: string, bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length === size) return bytes;
  throw new StorageError("network", `${key}: the body ended after ${bytes.length} of ${size} bytes`, { key });
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function fill(backend: Backend, key: string, call: ReadCall, content: Content, target: Buffer): Promise<void> {
  let at = 0;
  for await (const piece of resuming(backend, key, call, content)) {
    target.set(piece, at);
    at += piece.length;
  }
}

/** The pieces of a body. When it breaks off the rest is asked for, as often without a byte as the policy allows. */
async function* resuming(backend: Backend, key: string, call: ReadCall, first: Content): AsyncGenerator<Uint8Array> {
  let content = first;
  let at = first.start;
  for (let inVain = 0; ; inVain += 1) {
    const broken = yield* piecesOf(content, (length) => {
      at += length;
      inVain = 0;
    });
    if (!broken && (at >= first.end || !Number.isFinite(first.end))) return;
    const error = broken ?? new StorageError("network", `${key}: the body ended at ${at} of ${first.end}`, { key });
    if (inVain >= backend.transfer.retry.attempts) throw error;
    content = await retry(backend.transfer.retry, call.signal, (attempt) => {
      if (attempt === 1) throw error;
      return openRange(backend, key, call, first, { start: at, end: first.end });
    });
  }
}

/** Returns the error that ended the body early, where reading on may help. */
async function* piecesOf(
  content: Content,
  count: (length: number) => void,
): AsyncGenerator<Uint8Array, StorageError | undefined> {
  const pieces = content.body[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await pieces.next().catch((error: unknown) => {
        ended = true;
        if (isStorageError(error) && error.retryable) return error;
        throw error;
      });
      if (next instanceof StorageError) return next;
      if (next.done) {
        ended = true;
        return undefined;
      }
      count(next.value.length);
      yield next.value;
    }
  } finally {
    if (!ended) await pieces.return?.();
  }
}
