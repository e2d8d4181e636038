/** Explains why a job waits: its place in the queue, what holds the slots, and what else keeps it from starting. */
import { isIn, type JobWait, waitLimits } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { pausedTeams } from "../../store/queries/datasets/warehouses.ts";
import { attemptsOfTeam, busySlots, slotHolders } from "../../store/queries/jobs/attempts.ts";
import { type ClusterRow, getCluster } from "../../store/queries/jobs/clusters.ts";
import { getShortJob, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { countAhead, waitOf } from "../../store/queries/jobs/queue.ts";
import { getPipeline } from "../../store/queries/pipelines/pipelines.ts";
import { nextRunOf } from "../../store/queries/schedules/tasks.ts";
import { type DefaultQuotas, runningLimit } from "../access/quotas.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { waitTexts } from "../lifecycle/retries.ts";
import { type ClusterSight, statusOf } from "./cluster-status.ts";

interface WaitContext {
  readonly store: Store;
  readonly quotas: DefaultQuotas;
}

type Reasons = JobWait["reasons"];
type QueueRow = NonNullable<Awaited<ReturnType<typeof waitOf>>>;
type Slots = Pick<JobWait, "cluster" | "slots_needed" | "slots_busy" | "slots_total" | "holders" | "slots_of_others">;

/** Explains why a job waits. Returns undefined if there is no such job. */
export async function explainWait(
  { store: { db }, quotas }: WaitContext,
  id: string,
  sight: ClusterSight,
): Promise<JobWait | undefined> {
  const job = await getShortJob(db, id);
  const cluster = job && (await getCluster(db, job.cluster_id));
  if (!job || !cluster) return undefined;
  const { running, ...slots } = await slotsFor(db, job, cluster);
  const answer = { status: job.status, position: null, until: null, ...slots };
  if (job.status === "TASK") return { ...answer, ...(await untilNextRun(db, job)) };
  if (isIn("draft", job.status)) return { ...answer, reasons: await inPipeline(db, job) };
  const row = isIn("waiting", job.status) ? await waitOf(db, id) : undefined;
  if (!row) return { ...answer, reasons: [] };
  const team = await Array.fromAsync(ofTeam(db, job.team_id, running, quotas));
  const paused = pausedBy(cluster, sight);
  if (row.not_before !== "") return { ...answer, until: row.not_before, reasons: [delayed(row), ...paused, ...team] };
  const ahead = await countAhead(db, row, waitLimits.ahead);
  return { ...answer, position: ahead + 1, reasons: [...paused, ...team, ...ofQueue(slots, ahead)] };
}

async function slotsFor(db: Db, job: ShortJob, cluster: ClusterRow): Promise<Slots & { readonly running: number }> {
  const own = await attemptsOfTeam(db, job.team_id, cluster.id);
  const busy = await busySlots(db, cluster.id);
  return {
    running: own.running,
    cluster: cluster.name,
    slots_needed: Math.max(1, readSpec(job).workers),
    slots_busy: busy,
    slots_total: cluster.max_workers,
    holders: await slotHolders(db, cluster.id, job.team_id, waitLimits.holders),
    slots_of_others: Math.max(0, busy - own.slots),
  };
}

async function untilNextRun(db: Db, { id }: ShortJob): Promise<Pick<JobWait, "reasons" | "until">> {
  const until = await nextRunOf(db, id);
  const message =
    until === null
      ? "The task is paused or has no further runs."
      : "The task itself never runs: it creates jobs at its times.";
  return { until, reasons: [{ kind: "time", message }] };
}

async function inPipeline(db: Db, { pipeline_id }: ShortJob): Promise<Reasons> {
  const pipeline = pipeline_id === null ? undefined : await getPipeline(db, pipeline_id);
  const message =
    pipeline?.status === "PAUSED"
      ? `The pipeline ${pipeline.name} is paused. The job is queued after the pipeline is resumed.`
      : "Runs that come before it in its pipeline are not complete yet.";
  return [{ kind: "pipeline", message }];
}

function pausedBy(cluster: ClusterRow, sight: ClusterSight): Reasons {
  const { status_reason: why } = statusOf(cluster, sight);
  if (why === null) return [];
  return [
    { kind: "paused", message: `The cluster ${cluster.name} starts no jobs. ${why} Ask an operator of the server.` },
  ];
}

/** Reasons for which no job of the team starts. */
async function* ofTeam(
  db: Db,
  teamId: number,
  running: number,
  quotas: DefaultQuotas,
): AsyncGenerator<Reasons[number]> {
  const limit = await runningLimit(db, teamId, quotas);
  if (limit > 0 && running >= limit)
    yield {
      kind: "quota",
      message: `The team runs ${count(running, "job")}, as many as its quota allows (max_running). The next one starts when one of them ends.`,
    };
  if ((await pausedTeams(db)).includes(teamId))
    yield {
      kind: "maintenance",
      message: "Unused data of the team's warehouse is being removed. Jobs start again when that is done.",
    };
}

/** Why a job that may not start before a time has to wait: for its files, or for the delay of a retry. */
const delayed = ({ waits_for }: QueueRow): Reasons[number] =>
  waits_for === ""
    ? { kind: "retry", message: "The last attempt failed. The job waits for the delay before its next attempt." }
    : { kind: "files", message: waitTexts[waits_for] };

function* ofQueue({ cluster, ...slots }: Slots, ahead: number): Generator<Reasons[number]> {
  const free = Math.max(0, slots.slots_total - slots.slots_busy);
  if (slots.slots_needed > free)
    yield {
      kind: "slots",
      message: `The job needs ${count(slots.slots_needed, "slot")}, and ${free === 0 ? `all ${slots.slots_total}` : `${slots.slots_busy} of ${slots.slots_total}`} slots of the cluster ${cluster} are in use.`,
    };
  if (ahead > 0)
    yield {
      kind: "order",
      message: `${ahead >= waitLimits.ahead ? `${waitLimits.ahead} or more jobs are` : `${count(ahead, "job")} ${ahead === 1 ? "is" : "are"}`} ahead of it in the queue.`,
    };
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
