/**
 * Moves the logs of ended attempts to the blob storage. The first run also finds logs that an earlier server process
 * left behind.
 */
import type { Logger } from "pino";
import { attemptKey } from "../engines/engine.ts";
import { type Engines, localKind } from "../engines/registry.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import { isPassing } from "../machine/passing.ts";
import type { Store } from "../store/drivers/store.ts";
import { openAttempts } from "../store/queries/jobs/attempts.ts";
import type { Loop } from "./loop.ts";

export interface ArchiveContext {
  readonly store: Store;
  readonly engines: Engines;
  readonly log: Logger;
  readonly serverId: string;
  readonly archive: LogArchive;
}

/** Number of logs that are uploaded in parallel. */
const atOnce = 4;

export function archiveLogs(context: ArchiveContext): Loop {
  const { archive } = context;
  let first = true;
  return {
    name: "archive-logs",
    signal: archive.signal,
    interval: 5000,
    async runOnce() {
      if (first) for (const key of await closedAttempts(context)) archive.pending.add(key);
      first = false;
      const keys = [...archive.pending];
      for (let at = 0; at < keys.length; at += atOnce)
        await Promise.all(keys.slice(at, at + atOnce).map((key) => keep(context, key)));
    },
  };
}

/**
 * Returns the keys of ended attempts that still have a local folder. It lists the folders before it queries the open
 * attempts, so that an attempt that starts in between is in the second list and counts as open.
 */
async function closedAttempts({ store, engines, serverId }: ArchiveContext): Promise<string[]> {
  const keys = await engines.of({ engine: localKind }).find();
  const open = new Set((await openAttempts(store.db, serverId)).map((a) => attemptKey(a.job_id, a.attempt)));
  return keys.filter((key) => !open.has(key));
}

/**
 * Moves the log of one attempt. An unreachable storage is rethrown and pauses the loop. A log that cannot be read is
 * skipped until the next start, so that it does not block other logs.
 */
async function keep({ archive, log }: ArchiveContext, key: string): Promise<void> {
  try {
    await archive.keep(key);
  } catch (error) {
    if (isPassing(error)) throw error;
    log.error(
      { err: error, attempt: key },
      "could not move the log of an ended job to the blob storage; the next start of the server tries again",
    );
  }
  archive.pending.delete(key);
}
