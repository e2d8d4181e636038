/** Moves the logs of ended attempts to where blobs lie. The first run also looks for those that an earlier server left. */
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

/** Logs that are uploaded side by side. */
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

/** The folders first: an attempt that begins in between is then in the second list. */
async function closedAttempts({ store, engines, serverId }: ArchiveContext): Promise<string[]> {
  const keys = await engines.of({ engine: localKind }).find();
  const open = new Set((await openAttempts(store.db, serverId)).map((a) => attemptKey(a.job_id, a.attempt)));
  return keys.filter((key) => !open.has(key));
}

/** A storage that is away pauses the loop. A log that cannot be read holds up no other, and is left for the next start. */
async function keep({ archive, log }: ArchiveContext, key: string): Promise<void> {
  try {
    await archive.keep(key);
  } catch (error) {
    if (isPassing(error)) throw error;
    log.error({ err: error, attempt: key }, "the log of an ended job could not be moved; the next start tries again");
  }
  archive.pending.delete(key);
}
