/**
 * Determines how many blocks of one blob are transferred at once. The default is fsspec's number of concurrent calls.
 */
import { readFileSync } from "node:fs";
import type { Configuration } from "../../configuration/configuration.ts";
import { fsspecBatchSize } from "../../configuration/fsspec-defaults.ts";
import type { parameters } from "./parameters.ts";

/**
 * Maximum total size in bytes of the blocks that are transferred at once if `max_concurrency` is unset. Each of these
 * blocks may be held in memory.
 */
const mostBytes = 256 * 1024 * 1024;

/** Number of concurrent calls that fsspec uses if it cannot read the limit of open files. */
const usualBatch = 128;

export function concurrencyOf({ values, environment }: Configuration<typeof parameters>, blockSize: number): number {
  if (values.max_concurrency !== null) return values.max_concurrency;
  return Math.max(1, Math.min(batchSize(environment), Math.floor(mostBytes / blockSize)));
}

/**
 * Returns fsspec's number of concurrent calls. If `gather_batch_size` is set in fsspec's configuration files, returns
 * its value; -1 has the effect of 1, as in adlfs. Otherwise returns an eighth of the open-file limit, but at most
 * `usualBatch`. Node raises the limit when it starts, so the user's own limit is unknown.
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
