/** Removes what is older than its time: logs, long texts, idempotency keys, audit rows, invitations, deliveries. A little at a time. */
import type { Logger } from "pino";
import { jobIdAt } from "../domain/lifecycle/job-ids.ts";
import { type Clock, day, iso } from "../domain/time/clock.ts";
import { attemptKey } from "../engines/engine.ts";
import type { Engines } from "../engines/registry.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import type { Db, Store } from "../store/drivers/store.ts";
import { deleteDeliveriesBefore } from "../store/queries/events/deliveries.ts";
import { deleteFailingBefore } from "../store/queries/events/outbox.ts";
import { deleteKeysBefore } from "../store/queries/jobs/idempotency-keys.ts";
import { jobsWithOldLogs, markLogsRemoved } from "../store/queries/jobs/jobs.ts";
import { settleOldTexts } from "../store/queries/jobs/old-texts.ts";
import { beforeAll, removeUnused, textsAfter } from "../store/queries/jobs/texts.ts";
import { deleteAuditBefore } from "../store/queries/people/audit.ts";
import { deleteSettledInvitations } from "../store/queries/people/invitations.ts";

export interface RetentionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly engines: Engines;
  /** Days; 0 keeps for ever. */
  readonly logDays: number;
  readonly auditDays: number;
  readonly deliveryDays: number;
  readonly archive?: LogArchive | undefined;
}

/** Rows in one write, so that none is long. */
const batch = 500;
/** Texts in one write: each may have a megabyte. */
const textsAtOnce = 20;
const keyDays = 7;
const invitationDays = 30;
/** What has not succeeded for so long is given up on: a later success is no recovery any more. */
const failingDays = 365;

export async function removeOldRows({ store, clock, auditDays, deliveryDays }: RetentionContext): Promise<void> {
  const now = clock.now();
  const removeAll = async (remove: (db: Db) => Promise<number>) => {
    while ((await store.write(remove)) === batch) {
      // As long as a batch was full.
    }
  };
  await removeAll((db) => deleteKeysBefore(db, jobIdAt(now - keyDays * day), batch));
  await removeAll((db) => deleteSettledInvitations(db, iso(now - invitationDays * day), batch));
  await removeAll((db) => deleteDeliveriesBefore(db, iso(now - deliveryDays * day), batch));
  await removeAll((db) => deleteFailingBefore(db, iso(now - failingDays * day), batch));
  if (auditDays > 0) await removeAll((db) => deleteAuditBefore(db, iso(now - auditDays * day), batch));
}

/**
 * The log first, the mark after it: a server that dies in between leaves a job whose log is empty, which the next
 * pass marks; the other way round it would leave logs that nobody looks for any more.
 */
export async function removeOldLogs(context: RetentionContext): Promise<void> {
  const { store, clock, logDays } = context;
  if (logDays === 0) return;
  const before = iso(clock.now() - logDays * day);
  let last = { finished_at: "", id: "" };
  for (;;) {
    const jobs = await jobsWithOldLogs(store.db, before, last, batch);
    const removed: string[] = [];
    for (const job of jobs) if (await removeLogs(context, job)) removed.push(job.id);
    if (removed.length > 0) await store.write((db) => markLogsRemoved(db, removed, iso(clock.now())));
    const end = jobs.at(-1);
    if (!end || jobs.length < batch) return;
    last = end;
  }
}

/** Jobs as old as logs may be let go of their long texts; then what nothing refers to goes, whoever left it. */
export async function removeOldTexts({ store, clock, logDays }: RetentionContext): Promise<void> {
  const now = clock.now();
  const before = iso(now - logDays * day);
  if (logDays > 0)
    while ((await store.write((db) => settleOldTexts(db, before, iso(now), batch))) === batch) {
      // As long as a batch was full.
    }
  for (let after = beforeAll; ; ) {
    const texts = await textsAfter(store.db, after, batch);
    const unused = texts.filter(({ used }) => used === 0);
    for (let at = 0; at < unused.length; at += textsAtOnce) {
      const some = unused.slice(at, at + textsAtOnce);
      await store.write((db) => removeUnused(db, some));
    }
    const last = texts.at(-1);
    if (!last) return;
    after = last;
  }
}

/** Everything that the engine and the archive have of a job that ended. */
export async function removeLogs(
  { engines, archive, log }: RetentionContext,
  job: { id: string; attempt: number; engine: string },
): Promise<boolean> {
  const engine = engines.of(job);
  try {
    for (let number = 1; number <= job.attempt; number++) {
      const key = attemptKey(job.id, number);
      await engine.forget?.(key);
      await archive?.remove(key);
    }
    return true;
  } catch (error) {
    log.warn({ err: error, job: job.id }, "an old log could not be removed; it is tried again later");
    return false;
  }
}
