/**
 * Determines how many blocks of one blob are transferred at once. The default is fsspec's number of concurrent calls.
 */
import { readFileSync } from "node:fs";
import type { Configuration } from "../../configuration/configuration.ts";
import { fsspecBatchSize } from "../../configuration/fsspec-defaults.ts";
import type { parameters } from "./parameters.ts";

/** Maximum number of bytes in flight if the number of blocks is not configured, because each block may be in memory. */
const mostBytes = 256 * 1024 * 1024;

/** fsspec's default if it cannot read the limit of open files. */
const usualBatch = 128;

export function concurrencyOf({ values, environment }: Configuration<typeof parameters>, blockSize: number): number {
  if (values.max_concurrency !== null) return values.max_concurrency;
  return Math.max(1, Math.min(batchSize(environment), Math.floor(mostBytes / blockSize)));
}

/**
 * Returns fsspec's number of concurrent calls: `gather_batch_size` in fsspec's configuration files, or else an eighth
 * of the open-file limit. Node raises the open-file limit to the maximum when it starts, so the user's own limit is
 * unknown; the limit is used only if it gives less than fsspec's default. A `gather_batch_size` of -1 means no limit,
 * but adlfs then transfers one block after the other.
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
