/**
 * Moves the logs of ended attempts to the blob storage. Uploads run in parallel, but only one at a time for each team,
 * so that a long log does not delay the logs of other teams. The first run also finds logs that an earlier server
 * process did not upload.
 */
import type { Logger } from "pino";
import type { Clock } from "../domain/time/clock.ts";
import { attemptKey, jobIdOf } from "../engines/engine.ts";
import type { Engines } from "../engines/registry.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import { isPassing } from "../machine/passing.ts";
import type { Store } from "../store/drivers/store.ts";
import { openAttempts } from "../store/queries/jobs/attempts.ts";
import { teamsOfJobs } from "../store/queries/jobs/jobs.ts";
import { BackOff } from "./back-off.ts";
import type { Loop } from "./loop.ts";
import { TeamPool } from "./team-pool.ts";

export interface ArchiveContext {
  readonly store: Store;
  readonly engines: Engines;
  readonly log: Logger;
  readonly clock: Clock;
  readonly serverId: string;
  readonly archive: LogArchive;
}

/** Maximum number of parallel uploads: in total, and for one team. */
const bounds = { atOnce: 8, perTeam: 1 } as const;
/** After a failed upload, no upload starts for this many milliseconds. The pause grows from `first` to `longest`. */
const pauses = { first: 250, longest: 4000 } as const;
/** Maximum number of logs whose teams one query reads. */
const page = 500;

interface Archiving extends ArchiveContext {
  readonly pool: TeamPool;
  readonly storage: BackOff;
  /** Keys of logs that are to be uploaded, by team. The team whose turn is next comes first. */
  readonly waiting: Map<number, Set<string>>;
}

export function archiveLogs(given: ArchiveContext): Loop {
  const { archive, clock } = given;
  const pool = new TeamPool(bounds, () => archive.signal.wake());
  const context: Archiving = { ...given, pool, storage: new BackOff(clock, pauses), waiting: new Map() };
  let first = true;
  return {
    name: "archive-logs",
    signal: archive.signal,
    interval: 1000,
    async runOnce() {
      if (first) for (const key of await closedAttempts(context)) archive.pending.add(key);
      first = false;
      await sortByTeam(context);
      if (context.storage.isOver) beginAll(context);
    },
    settled: () => pool.settled(),
  };
}

/**
 * Returns the keys of ended attempts that still have a local folder. Lists the folders first and reads the open
 * attempts second. So an attempt that starts in between is not taken for an ended one.
 */
async function closedAttempts({ store, engines, serverId }: ArchiveContext): Promise<string[]> {
  const keys = (await Promise.all(engines.all().map((engine) => engine.find()))).flat();
  const open = new Set((await openAttempts(store.db, serverId)).map((a) => attemptKey(a.job_id, a.attempt)));
  return keys.filter((key) => !open.has(key));
}

/** Stands for the team of logs whose job is not in the store. These logs take turns with the logs of teams. */
const nobody = 0;

async function sortByTeam({ store, archive, waiting }: Archiving): Promise<void> {
  while (archive.pending.size > 0) {
    const keys = [...archive.pending].slice(0, page);
    const teams = await teamsOfJobs(store.db, [...new Set(keys.map(jobIdOf))]);
    for (const key of keys) {
      const team = teams.get(jobIdOf(key)) ?? nobody;
      waiting.set(team, (waiting.get(team) ?? new Set()).add(key));
      archive.pending.delete(key);
    }
  }
}

/** Starts uploads while the pool has room. When an upload of a team starts, the team moves to the end of the list. */
function beginAll(context: Archiving): void {
  const { pool, waiting } = context;
  const full = new Set(pool.fullTeams());
  for (const [team, keys] of [...waiting]) {
    if (pool.isFull) return;
    const [key] = keys;
    if (key === undefined) waiting.delete(team);
    if (key === undefined || full.has(team)) continue;
    waiting.delete(team);
    keys.delete(key);
    waiting.set(team, keys);
    pool.begin(key, team, () => keep(context, key));
  }
}

/**
 * Moves the log of one attempt to the blob storage. Never rejects. If the storage is unreachable, the log is uploaded
 * later. If the log cannot be read, it is skipped until the next start of the server, so that it does not block other
 * logs.
 */
async function keep({ archive, log, storage }: Archiving, key: string): Promise<void> {
  try {
    await archive.keep(key);
    if (storage.succeed()) log.info("logs of ended jobs can be moved to the blob storage again");
  } catch (error) {
    if (!isPassing(error)) {
      log.error(
        { err: error, attempt: key },
        "could not move the log of an ended job to the blob storage; the next start of the server tries again",
      );
      return;
    }
    if (storage.fail())
      log.warn({ err: error, attempt: key }, "could not move logs of ended jobs to the blob storage; trying again");
    archive.pending.add(key);
  }
}
