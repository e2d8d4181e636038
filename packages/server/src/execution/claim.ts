/** Takes jobs off the queue, in order, as far as slots and quotas reach, and opens an attempt for each. */
import { jobStates } from "@millrace/contract";
import { type DefaultQuotas, roomToRun } from "../domain/access/quotas.ts";
import { CredentialsUnavailable, type Gathered, gatherCredentials } from "../domain/jobs/job-credentials.ts";
import { endJob } from "../domain/lifecycle/end-job.ts";
import { readSpec } from "../domain/lifecycle/job-documents.ts";
import { rulesOf } from "../domain/lifecycle/retries.ts";
import { absentCreator } from "../domain/pipelines/pipeline-sources.ts";
import { decryptJobSecrets, encryptJobSecrets } from "../domain/secrets/encryption.ts";
import { iso } from "../domain/time/clock.ts";
import type { Db } from "../store/drivers/store.ts";
import { busySlots, openAttempt } from "../store/queries/jobs/attempts.ts";
import type { ClusterRow } from "../store/queries/jobs/clusters.ts";
import { moveJob } from "../store/queries/jobs/job-moves.ts";
import { getJob, type JobRow } from "../store/queries/jobs/jobs.ts";
import { countPassedOver, dequeue, headOfQueue, headOfQueueWithout } from "../store/queries/jobs/queue.ts";
import type { ExecutionContext } from "./execution-context.ts";

export interface ClaimContext extends Pick<ExecutionContext, "clock" | "keys" | "serverId" | "signals"> {
  readonly bootId: string;
  readonly quotas: DefaultQuotas;
}

/** A job that begins, with the variables of its credentials as they are now: read once, in the write that claims it. */
export interface Claimed {
  readonly job: JobRow;
  readonly credentials: Gathered;
}

/** How often a job that does not fit may be overtaken, per slot of its cluster, before the cluster waits for it. */
const overtakings = 4;
/** How many jobs that do not fit are looked past for one that does. */
const lookAhead = 16;

/** Chooses anew inside the transaction: what was read before it may be gone. */
export async function claimJobs(db: Db, context: ClaimContext, cluster: ClusterRow): Promise<Claimed[]> {
  let free = cluster.max_workers - (await busySlots(db, cluster.id));
  const room = await roomToRun(db, context.quotas);
  const claimed: Claimed[] = [];
  const passed: string[] = [];
  const reach = 2 * Math.max(free, 0) + lookAhead;
  const head =
    room.full.length === 0
      ? await headOfQueue(db, cluster.id, reach)
      : await headOfQueueWithout(db, cluster.id, reach, room.full);
  for (const waiting of head) {
    if (free <= 0) break;
    if (waiting.slots > cluster.max_workers) {
      await refuseTooWide(db, context, cluster, waiting);
      continue;
    }
    if (waiting.slots > free) {
      // A wide job may be overtaken for a while, so that slots do not idle; not for ever.
      if (waiting.passed_over >= overtakings * cluster.max_workers) break;
      passed.push(waiting.job_id);
      continue;
    }
    if (!room.take(waiting.team_id)) continue;
    const job = await claimJob(db, context, waiting.job_id, waiting.slots);
    if (!job) continue;
    claimed.push(job);
    free -= waiting.slots;
  }
  if (claimed.length > 0 && passed.length > 0) await countPassedOver(db, passed);
  return claimed;
}

/** The cluster was made smaller while the job waited: it would wait for ever, and others behind it. */
async function refuseTooWide(
  db: Db,
  { clock }: ClaimContext,
  cluster: ClusterRow,
  { job_id: id, slots }: { job_id: string; slots: number },
): Promise<void> {
  if (!(await dequeue(db, id))) return;
  const why = `The job wants ${slots} workers, and the cluster ${cluster.name} now has ${cluster.max_workers}.`;
  await failWaiting(db, id, why, clock.now());
}

const failWaiting = (db: Db, id: string, why: string, now: number) =>
  endJob(
    db,
    {
      id,
      from: jobStates.waiting,
      to: "FAILED",
      changes: { error_message: why, finished_at: iso(now) },
    },
    now,
  );

/** A run of a pipeline may begin long after it was asked for, and by somebody else: its creator must still be there. */
async function claimJob(db: Db, context: ClaimContext, id: string, slots: number): Promise<Claimed | undefined> {
  if (!(await dequeue(db, id))) return undefined;
  const job = await getJob(db, id);
  if (!job) return undefined;
  const now = iso(context.clock.now());
  const refuse = async (why: string) => {
    await failWaiting(db, id, why, context.clock.now());
    context.signals.jobChanged(id);
    return undefined;
  };
  const absent = job.pipeline_id === null ? undefined : await absentCreator(db, [job]);
  if (absent !== undefined) return refuse(`It could not begin: ${absent}`);
  const credentials = await credentialsOf(db, context, job);
  if (credentials instanceof CredentialsUnavailable) return refuse(credentials.message);
  const secrets = await encryptSecrets(db, context, id, [...secretsBefore(context, job), ...credentials.secrets]);
  const changes = { attempt: job.attempt + 1, started_at: now, secrets };
  const moved = await moveJob(db, {
    id,
    from: jobStates.waiting,
    to: "INIT",
    fence: job.attempt,
    changes,
  });
  if (!moved) return undefined;
  await openAttempt(db, {
    job_id: id,
    team_id: job.team_id,
    attempt: changes.attempt,
    cluster_id: job.cluster_id,
    slots,
    server_id: context.serverId,
    boot_id: context.bootId,
    created_at: now,
    signalled_at: null,
    timeout: (await rulesOf(db, job)).timeout || null,
  });
  return { job: { ...job, ...changes, status: "INIT" }, credentials };
}

/** A job whose credentials are gone holds up no other: the reason comes back instead of being thrown. */
async function credentialsOf(db: Db, { keys }: ClaimContext, job: JobRow) {
  const { credentials_name: name, credentials_names: names = name === null ? [] : [name] } = readSpec(job);
  try {
    return await gatherCredentials(db, keys, job, names);
  } catch (error) {
    if (error instanceof CredentialsUnavailable) return error;
    throw error;
  }
}

/** Of attempts before this one: their logs are part of the job's, whatever it is given now. */
const secretsBefore = ({ keys }: ClaimContext, { id, retried, secrets }: JobRow): string[] =>
  retried === 0 || secrets === "" ? [] : (JSON.parse(decryptJobSecrets(keys, id, secrets)) as string[]);

/** Kept with the job: its log must not show them, whatever becomes of the credentials later. */
const encryptSecrets = async (db: Db, { keys }: ClaimContext, id: string, values: readonly string[]) =>
  encryptJobSecrets(db, keys, id, values.length === 0 ? "" : JSON.stringify([...new Set(values)]));
