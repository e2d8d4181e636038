/** `parts`: reads only bytes that the caller supplied, and never asks the store. */
import { StorageError } from "../errors.ts";
import { type CacheSetup, type FileCache, join } from "./file-cache.ts";

interface Part {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

export function knownPartsCache({ options: { data = new Map(), strict = false } }: CacheSetup): FileCache {
  const parts = mergeNeighbours(data);
  return {
    async read(start, end) {
      const part = parts.find((known) => known.start <= start && start < known.end);
      if (!part || (strict && end > part.end)) throw unknown(start, end);
      if (end <= part.end) return part.bytes.subarray(start - part.start, end - part.start);
      return withZeros(parts, start, end);
    },
    sharesReads: true,
  };
}

function mergeNeighbours(data: ReadonlyMap<number, Uint8Array>): Part[] {
  const merged: Part[] = [];
  for (const [start, bytes] of [...data].sort(([a], [b]) => a - b)) {
    const before = merged.at(-1);
    const part = { start, end: start + bytes.length, bytes };
    if (before?.end !== start) merged.push(part);
    else merged[merged.length - 1] = { ...part, start: before.start, bytes: join(before.bytes, bytes) };
  }
  return merged;
}

/** Returns the bytes of a range. Bytes outside the known parts are zeros. */
function withZeros(parts: readonly Part[], start: number, end: number): Uint8Array {
  const target = new Uint8Array(end - start);
  for (const part of parts) {
    const from = Math.max(start, part.start);
    const until = Math.min(end, part.end);
    if (from < until) target.set(part.bytes.subarray(from - part.start, until - part.start), from - start);
  }
  return target;
}

const unknown = (start: number, end: number) =>
  new StorageError("invalid", `cache_options.data does not contain the bytes from ${start} to ${end}`);
