/**
 * Moves the logs of ended attempts to where blobs lie: several at once, of each team one after another, so that a long log
 * holds up no other team's. The first run also looks for those that an earlier server left.
 */
import type { Logger } from "pino";
import type { Clock } from "../domain/time/clock.ts";
import { attemptKey } from "../engines/engine.ts";
import { type Engines, localKind } from "../engines/registry.ts";
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

/** Logs that are uploaded side by side: of all teams, and of one. */
const bounds = { atOnce: 8, perTeam: 1 } as const;
/** Milliseconds after a failure before the next upload begins. */
const pauses = { first: 250, longest: 4000 } as const;
/** Keys whose teams one statement asks for. */
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

/** The folders first: an attempt that begins in between is then in the second list. */
async function closedAttempts({ store, engines, serverId }: ArchiveContext): Promise<string[]> {
  const keys = await engines.of({ engine: localKind }).find();
  const open = new Set((await openAttempts(store.db, serverId)).map((a) => attemptKey(a.job_id, a.attempt)));
  return keys.filter((key) => !open.has(key));
}

/** What no job in the store has is of nobody, and has its turns like a team. */
const nobody = 0;

async function sortByTeam({ store, archive, waiting }: Archiving): Promise<void> {
  while (archive.pending.size > 0) {
    const keys = [...archive.pending].slice(0, page);
    const teams = await teamsOfJobs(store.db, [...new Set(keys.map(jobOf))]);
    for (const key of keys) {
      const team = teams.get(jobOf(key)) ?? nobody;
      waiting.set(team, (waiting.get(team) ?? new Set()).add(key));
      archive.pending.delete(key);
    }
  }
}

const jobOf = (key: string) => key.slice(0, key.lastIndexOf("."));

/** A team that has had its turn goes to the end of the row. */
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

/** Never rejects. What a storage that is away did not take is tried again; what cannot be read is left for the next start. */
async function keep({ archive, log, storage }: Archiving, key: string): Promise<void> {
  try {
    await archive.keep(key);
    if (storage.succeed()) log.info("logs of ended jobs can be moved again");
  } catch (error) {
    if (!isPassing(error)) {
      log.error({ err: error, attempt: key }, "the log of an ended job could not be moved; the next start tries again");
      return;
    }
    if (storage.fail()) log.warn({ err: error, attempt: key }, "logs of ended jobs cannot be moved; trying again");
    archive.pending.add(key);
  }
}
