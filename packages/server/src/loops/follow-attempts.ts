/** Follows open attempts. Records their steps and how they ended, and carries out cancellations. */

import { localEngine, type Step } from "@millrace/contract";
import { withNamesakes } from "../domain/datasets/dataset-namesakes.ts";
import { readSpec } from "../domain/lifecycle/job-documents.ts";
import { overTime } from "../domain/lifecycle/retries.ts";
import { iso } from "../domain/time/clock.ts";
import { type Engine, EngineUnreachable, type Observation } from "../engines/engine.ts";
import { attemptOf } from "../execution/attempt-of.ts";
import { ClosedAttempts } from "../execution/closed-attempts.ts";
import { type CollectContext, collectDatasets, withoutDatasets } from "../execution/collect-datasets.ts";
import { describeFailure } from "../execution/describe-failure.ts";
import { acceptResults, fenceOf, type Result, requeueAttempt } from "../execution/end-attempt.ts";
import { Grace } from "../execution/grace.ts";
import { maskMetrics } from "../job-logs/job-log.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import { isDiskFull } from "../machine/disk.ts";
import { isPassing } from "../machine/passing.ts";
import { describeExit } from "../reasons/exits.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import { markSignalled, type OpenAttempt, openAttempts } from "../store/queries/jobs/attempts.ts";
import { moveJob } from "../store/queries/jobs/job-moves.ts";
import { getJob, setSteps } from "../store/queries/jobs/jobs.ts";
import type { Loop } from "./loop.ts";
import { type LoopCluster, loopName } from "./loop-of-cluster.ts";

export interface FollowContext extends CollectContext {
  /** Seconds between SIGTERM and SIGKILL. */
  readonly cancelGrace: number;
  /** Keys of attempts for which the engine reported a change. The loop empties the set. */
  readonly hints: Set<string>;
  /**
   * Attempts whose datasets are being read from the team's warehouse, by key. Each promise resolves when the result of
   * the attempt was stored or could not be stored. Results of other attempts do not wait for these reads.
   */
  readonly collecting: Map<string, Promise<void>>;
  readonly archive?: LogArchive | undefined;
}

const fullPassEvery = 1000;

interface Observing extends FollowContext {
  readonly closed: ClosedAttempts;
  readonly grace: Grace;
  readonly cluster: LoopCluster;
  readonly engine: Engine;
}

/** Returns the loop for the attempts of one cluster. Each cluster has its own, so that a slow one delays no other. */
export function followAttempts(given: FollowContext, cluster: LoopCluster): Loop {
  const grace = new Grace(given.clock, given.cancelGrace);
  const closed = new ClosedAttempts(given, cluster.id);
  const context: Observing = { ...given, closed, grace, cluster, engine: given.engines.of(cluster.id) };
  context.signals.endsUnseen++;
  let hasLooked = false;
  let lastFullPass = Number.NEGATIVE_INFINITY;
  return {
    name: loopName("follow-attempts", cluster),
    signal: context.signals.observe,
    interval: 250,
    async runOnce() {
      const now = context.clock.monotonic();
      const hinted = new Set(context.hints);
      context.hints.clear();
      const full = now - lastFullPass >= fullPassEvery;
      if (full) lastFullPass = now;
      // Copied before the rows are read: an attempt whose result is accepted in between would still look open.
      const collected = new Set(context.collecting.keys());
      const isEnding = (key: string) => collected.has(key) || context.collecting.has(key);
      const open = (await openAttempts(context.store.db, context.serverId)).filter(
        ({ cluster_id }) => cluster_id === cluster.id,
      );
      await context.closed.compare(open, isEnding);
      grace.keep(new Set(open.map(keyOf)));
      const due = open
        .filter((attempt) => full || hinted.has(keyOf(attempt)) || attempt.status === "CANCELING")
        .filter((attempt) => !isEnding(keyOf(attempt)));
      const ended: Ended[] = [];
      // The engine is queried even without attempts: that tells whether it is reachable again.
      if (due.length > 0 || full) ended.push(...(await look(context, due)));
      if (ended.length > 0) await finish(context, ended);
      if (full && !hasLooked) tellEndsSeen(context);
      hasLooked ||= full;
    },
    async settled() {
      await Promise.all(context.collecting.values());
      // A cluster that is removed before its first look holds nobody up.
      if (!hasLooked) context.signals.endsUnseen--;
      hasLooked = true;
    },
  };
}

/**
 * Tells other loops that all attempts that ended while no server ran are now recorded as ended. Waits for `collecting`,
 * because an end is recorded only after the attempt's datasets were read from the warehouse.
 */
function tellEndsSeen({ signals, collecting }: Observing): void {
  void Promise.all(collecting.values()).then(() => {
    signals.endsUnseen--;
    signals.schedules.wake();
  });
}

/** Queries the engine about these attempts, stores their progress, and returns those that ended. */
async function look(context: Observing, attempts: readonly OpenAttempt[]): Promise<Ended[]> {
  // Copied after the rows and before the engine is queried: an attempt that is not in this copy was already submitted.
  const starting = new Set(context.signals.starting);
  const seen = await observe(context, attempts);
  const ended: Ended[] = [];
  for (const attempt of attempts) {
    const observation = asLost(context, attempt, seen.get(keyOf(attempt)));
    if (observation?.state === "EXITED" || observation?.state === "LOST") ended.push({ attempt, observation });
    else if (observation) await tryProgress(context, attempt, observation, starting.has(keyOf(attempt)));
  }
  return ended;
}

/**
 * An attempt that has begun and that the engine no longer knows is lost, for example because its folder was deleted. It
 * must not be taken for one that never started: its job would run twice, or never end. What its runner on another
 * machine was told is not known any more.
 */
function asLost(
  { cluster }: Observing,
  { status, steps }: OpenAttempt,
  observation: Observation | undefined,
): Observation | undefined {
  if (observation?.state !== "ABSENT") return observation;
  const begun = JSON.parse(steps ?? "[]") as Step[];
  if (status !== "RUNNING" && begun.length === 0) return observation;
  const why = "the engine no longer knows it; its files may have been deleted";
  return { state: "LOST", steps: begun, why, ...(cluster.engine === localEngine ? {} : { mayRunOn: true }) };
}

/**
 * Queries the engine for the state of these attempts. Returns what is known without it while it is unreachable. It does
 * not log that, because the code that pauses the engine's clusters logs it.
 */
async function observe({ engines, cluster }: Observing, attempts: readonly OpenAttempt[]) {
  try {
    return await engines.ask(cluster.id, (engine) => engine.observe(attempts.map(attemptOf)));
  } catch (error) {
    if (error instanceof EngineUnreachable) return error.seen ?? new Map<string, Observation>();
    throw error;
  }
}

/** Stores the progress of one attempt. A failure is logged, so that one attempt does not block the others. */
async function tryProgress(
  context: Observing,
  attempt: OpenAttempt,
  observation: Observation,
  isStarting: boolean,
): Promise<void> {
  try {
    if (observation.state === "UNKNOWN") throw observation.error;
    await progress(context, attempt, observation, isStarting);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    // The loop that starts jobs logs a full disk, once.
    const level = isDiskFull(error) ? "debug" : "error";
    context.log[level](
      { err: error, attempt: keyOf(attempt) },
      "could not check the state of the attempt; it is tried again",
    );
  }
}

const keyOf = (attempt: OpenAttempt) => attemptOf(attempt).key;

async function progress(
  context: Observing,
  attempt: OpenAttempt,
  observation: Observation,
  isStarting: boolean,
): Promise<void> {
  const isCanceling = attempt.status === "CANCELING";
  if (observation.state === "RUNNING")
    return isCanceling ? cancel(context, attempt) : noteSteps(context, attempt, observation);
  if (observation.state === "ABSENT" && observation.why !== undefined)
    context.log.warn({ attempt: keyOf(attempt), why: observation.why }, "the attempt never began; its job waits again");
  // The attempt has not started. While it is being submitted, the loop `dispatch-jobs` decides about it.
  if (isCanceling || (observation.state === "ABSENT" && !isStarting)) await takeBack(context, attempt);
}

async function noteSteps(
  context: Observing,
  attempt: OpenAttempt,
  { querying, steps: seen }: Observation & { state: "RUNNING" },
): Promise<void> {
  const { status, job_id: id, attempt: fence } = attempt;
  if (status !== "INIT" && status !== "PROVISIONING") return;
  const steps = JSON.stringify(seen);
  if (!querying && status === "INIT" && steps === attempt.steps) return;
  await context.store.write(async (db) => {
    if (!querying && status === "INIT") return setSteps(db, id, fence, steps);
    if (!querying) return moveJob(db, { id, from: ["PROVISIONING"], to: "INIT", fence, changes: { steps } });
    return moveJob(db, { id, from: ["PROVISIONING", "INIT"], to: "RUNNING", fence, changes: { steps } });
  });
  context.signals.jobChanged(id);
  context.signals.changes.note(attempt.team_id, "jobs", id);
}

/** Withdraws an attempt whose start failed or was canceled. Its job is then queued again or canceled. */
async function takeBack(context: Observing, attempt: OpenAttempt): Promise<void> {
  if (!(await context.engine.withdraw(attemptOf(attempt)))) return;
  await requeueAttempt(context, fenceOf(attempt));
  context.closed.clean(fenceOf(attempt));
}

async function cancel(context: Observing, attempt: OpenAttempt): Promise<void> {
  const { store, engine, clock, grace } = context;
  const { job_id, signalled_at } = attempt;
  const force = grace.isOver(keyOf(attempt)) && signalled_at !== null;
  if (signalled_at === null) {
    // The attempt is observed again, because canceling earlier attempts took time, and a job that exited before its
    // first signal keeps its own result.
    if (!(await isRunning(context, attempt))) return;
    await store.write((db) => markSignalled(db, job_id, attempt.attempt, iso(clock.now())));
  }
  await engine.cancel(attemptOf(attempt), force);
}

async function isRunning(context: Observing, attempt: OpenAttempt): Promise<boolean> {
  const key = keyOf(attempt);
  if (context.engine.hasEnded) return !(await context.engine.hasEnded(key));
  return (await observe(context, [attempt])).get(key)?.state === "RUNNING";
}

interface Ended {
  attempt: OpenAttempt;
  observation: Observation & { state: "EXITED" | "LOST" };
}

/**
 * Stores the results of ended attempts. First kills processes that the jobs left behind. If such a process cannot be
 * killed yet, the result of its attempt waits.
 */
async function finish(context: Observing, all: readonly Ended[]): Promise<void> {
  const alive = (await context.engine.sweep?.(all.map(({ attempt }) => keyOf(attempt)))) ?? [];
  for (const attempt of alive) context.log.warn({ attempt }, "a process of an ended job cannot be killed yet");
  const ended = all.filter(({ attempt }) => !alive.includes(keyOf(attempt)));
  context.faults.pass("exit-observed");
  for (const end of ended.filter(usedDatasets)) collectLater(context, end);
  const others = ended.filter((end) => !usedDatasets(end));
  await accept(context, await Promise.all(others.map((end) => resultOf(context, end))));
}

/**
 * Stores results, and deletes the working files of the attempts whose result was stored. The other attempts keep their
 * folders and are checked again.
 */
async function accept(context: Observing, results: readonly Result[]): Promise<void> {
  if (results.length === 0) return;
  context.closed.expect(results.map(({ fence }) => fence));
  const accepted = await acceptResults(context, results);
  context.faults.pass("result-committed");
  for (const { fence } of accepted) context.closed.clean(fence);
}

/** Tells whether the attempt reached the step `datasets`; before that step a job cannot have changed datasets. */
const usedDatasets = ({ observation }: Ended) => observation.steps.some(({ name }) => name === "datasets");

/**
 * Reads the job's datasets from the warehouse and then stores the result. Both happen in the background, so that the
 * ends of other jobs do not wait.
 */
function collectLater(context: Observing, end: Ended): void {
  const key = keyOf(end.attempt);
  const { job_id: jobId, team_id: teamId, created_at: startedAt } = end.attempt;
  const canceled = end.attempt.status === "CANCELING" && end.attempt.signalled_at !== null;
  const collecting = resultOf(context, end)
    .then((result) => collectDatasets(context, { teamId, jobId, startedAt, canceled, result }))
    .then((result) => acceptCollected(context, end, result))
    .then(() => context.signals.stores.wake())
    .catch((error) =>
      context.log[isPassing(error) ? "debug" : "error"](
        { err: error, attempt: key },
        "could not store the result of the attempt; it is tried again",
      ),
    )
    .finally(() => context.collecting.delete(key));
  context.collecting.set(key, collecting);
}

/**
 * Stores a result with its datasets. If the datasets cannot be stored, the result is stored without them and with an
 * error message that says so.
 */
async function acceptCollected(context: Observing, end: Ended, result: Result): Promise<void> {
  try {
    await accept(context, [result]);
  } catch (error) {
    if (!result.collected || isPassing(error)) throw error;
    context.log.error(
      { err: error, attempt: keyOf(end.attempt) },
      "could not store the datasets that the job created; the job ends without them",
    );
    await accept(context, [withoutDatasets(result)]);
  }
}

async function resultOf(context: FollowContext, { attempt, observation }: Ended): Promise<Result> {
  const steps = JSON.stringify(observation.steps);
  const signalled = attempt.signalled_at !== null;
  const isLast = observation.mayRunOn ?? false;
  const base = { fence: fenceOf(attempt), signalled, isLast, inPipeline: attempt.pipeline_id !== null };
  if (observation.state === "LOST") {
    const error_message = `The job was lost: ${observation.why}.`;
    return { ...base, status: "FAILED", lastWords: notAgain(isLast), changes: { steps, error_message } };
  }
  const { exit } = observation;
  const overLimit = limitOf(attempt, observation);
  const told = await whatItSaid(context, attempt.job_id, { ...observation, overLimit }).catch((error) => {
    if (isUnavailable(error)) throw error;
    // Without the job's secrets, its output cannot be masked, so no output is shown. The result of the job still
    // counts.
    context.log.error({ err: error, job: attempt.job_id }, "could not read the output of the job");
    const why = overLimit ?? (exit.code === 0 ? null : describeExit(exit.code));
    return why === null ? {} : { error_message: why };
  });
  const changes = { steps, exit_code: exit.code, finished_at: iso(exit.finishedAt), ...told };
  const good = exit.code === 0 && overLimit === null;
  return { ...base, status: good ? "COMPLETE" : "FAILED", ...(isLast ? { lastWords: notAgain(true) } : {}), changes };
}

const notAgain = (mayRunOn: boolean) =>
  `The job was not run again${mayRunOn ? ", and it may still run on its cluster" : ""}; rerun it if running it twice is safe.`;

/**
 * Returns the limit that the attempt exceeded; null if there is none. If a script exits with code 0 just as its time
 * limit is reached, the limit does not count as exceeded.
 */
function limitOf({ timeout }: OpenAttempt, { exit, overLimit }: Observation & { state: "EXITED" }): string | null {
  const isTime = timeout !== null && overLimit === overTime(timeout);
  return isTime && exit.code === 0 ? null : overLimit;
}

/** Returns the job's metrics and the reason of its failure, with secrets masked in both. */
async function whatItSaid(
  context: FollowContext,
  jobId: string,
  { exit, metrics: json, overLimit }: Observation & { state: "EXITED" },
): Promise<Result["changes"]> {
  const metrics = json === null ? {} : { metrics: await maskMetrics(context, jobId, json) };
  if (exit.code === 0) return overLimit === null ? metrics : { ...metrics, error_message: overLimit };
  const job = await getJob(context.store.db, jobId);
  const queryType = job && readSpec(job).query_type;
  const failure = await describeFailure(context, { jobId, queryType, exit, overLimit });
  const reason = job && (await withNamesakes(context.store.db, job.team_id, failure.error_message));
  return { ...metrics, ...failure, ...(reason === undefined ? {} : { error_message: reason }) };
}
