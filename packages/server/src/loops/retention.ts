/**
 * Deletes data past its retention period, in small batches: logs, long texts, idempotency keys, audit rows, invitations
 * and deliveries.
 */
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
  /** Days to keep logs and scripts of ended jobs; 0 keeps them forever. */
  readonly logDays: number;
  readonly auditDays: number;
  readonly deliveryDays: number;
  readonly archive?: LogArchive | undefined;
}

/** Maximum number of rows in one transaction, so that no transaction is long. */
const batch = 500;
/** Maximum number of texts that one transaction deletes. A text may have a megabyte. */
const textsAtOnce = 20;
const keyDays = 7;
const invitationDays = 30;
/**
 * A schedule, task or job that failed is recorded as failing until its next success, which is reported as a recovery.
 * If there is no success for this many days, the record is deleted, and a later success is not reported.
 */
const failingDays = 365;

export async function removeOldRows({ store, clock, auditDays, deliveryDays }: RetentionContext): Promise<void> {
  const now = clock.now();
  const removeAll = async (remove: (db: Db) => Promise<number>) => {
    while ((await store.write(remove)) === batch) {
      // A full batch means that more rows may be left.
    }
  };
  await removeAll((db) => deleteKeysBefore(db, jobIdAt(now - keyDays * day), batch));
  await removeAll((db) => deleteSettledInvitations(db, iso(now - invitationDays * day), batch));
  await removeAll((db) => deleteDeliveriesBefore(db, iso(now - deliveryDays * day), batch));
  await removeAll((db) => deleteFailingBefore(db, iso(now - failingDays * day), batch));
  if (auditDays > 0) await removeAll((db) => deleteAuditBefore(db, iso(now - auditDays * day), batch));
}

/**
 * Deletes logs of jobs past their retention period. First deletes the log, then marks the job as having no log. If the
 * server crashes in between, the next pass marks the job. In the reverse order, a crash would leave logs that no pass
 * deletes.
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

/** Removes the long texts from jobs past the retention period of logs, then deletes all texts that no row refers to. */
export async function removeOldTexts({ store, clock, logDays }: RetentionContext): Promise<void> {
  const now = clock.now();
  const before = iso(now - logDays * day);
  if (logDays > 0)
    while ((await store.write((db) => settleOldTexts(db, before, iso(now), batch))) === batch) {
      // A full batch means that more jobs may be left.
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

/** Deletes all logs of an ended job, from its engine and from the archive. Returns false if that failed. */
export async function removeLogs(
  { engines, archive, log }: RetentionContext,
  job: { id: string; attempt: number; cluster_id: number },
): Promise<boolean> {
  const engine = engines.of(job.cluster_id);
  try {
    for (let number = 1; number <= job.attempt; number++) {
      const key = attemptKey(job.id, number);
      await engine.forget?.(key);
      await archive?.remove(key);
    }
    return true;
  } catch (error) {
    log.warn({ err: error, job: job.id }, "could not delete the logs of an ended job; it is tried again later");
    return false;
  }
}
