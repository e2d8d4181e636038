/** How many blocks of one blob move at once where `max_concurrency` does not say it: as many as fsspec makes calls at once. */
import { readFileSync } from "node:fs";
import type { Configuration } from "../../configuration/configuration.ts";
import { fsspecBatchSize } from "../../configuration/fsspec-defaults.ts";
import type { parameters } from "./parameters.ts";

/** Bytes of blocks that are on their way where nobody said how many blocks: each may be held in memory. */
const mostBytes = 256 * 1024 * 1024;

/** What fsspec takes where it cannot ask for the limit. */
const usualBatch = 128;

export function concurrencyOf({ values, environment }: Configuration<typeof parameters>, blockSize: number): number {
  if (values.max_concurrency !== null) return values.max_concurrency;
  return Math.max(1, Math.min(batchSize(environment), Math.floor(mostBytes / blockSize)));
}

/**
 * fsspec: `gather_batch_size` of its files, else an eighth of the files that the process may open. Node raises that
 * limit to the highest that is allowed when it starts, so that what the user had set can no longer be read: it only
 * makes the usual number smaller. Where fsspec has no limit, at -1, the original moves one block after the other.
 */
function batchSize(environment: Configuration["environment"]): number {
  const given = fsspecBatchSize("az", environment);
  return given === undefined ? Math.min(usualBatch, Math.floor(openFiles() / 8)) : given;
}

function openFiles(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
