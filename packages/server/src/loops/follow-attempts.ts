/** Watches open attempts: notices phases, ends and losses, and carries out cancellations. */

import { withNamesakes } from "../domain/datasets/dataset-namesakes.ts";
import { readSpec } from "../domain/lifecycle/job-documents.ts";
import { overTime } from "../domain/lifecycle/retries.ts";
import { hasPassed, iso } from "../domain/time/clock.ts";
import { attemptKey, type Observation } from "../engines/engine.ts";
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

export interface FollowContext extends CollectContext {
  /** Seconds between TERM and KILL. */
  readonly cancelGrace: number;
  /** Keys that the engine said something of; emptied by the loop. */
  readonly hints: Set<string>;
  /** Attempts whose datasets are being read back, by key: nobody waits for them but their own result. */
  readonly collecting: Map<string, Promise<void>>;
  readonly archive?: LogArchive | undefined;
}

/** After this long without a claim, a start has gone astray. */
const claimPatience = 30_000;
const fullPassEvery = 1000;

interface Observing extends FollowContext {
  readonly closed: ClosedAttempts;
  readonly grace: Grace;
}

export function followAttempts(given: FollowContext): Loop {
  const grace = new Grace(given.clock, given.cancelGrace);
  const context: Observing = { ...given, closed: new ClosedAttempts(given), grace };
  const begun = iso(context.clock.now());
  context.signals.endsSeen = false;
  let lastFullPass = Number.NEGATIVE_INFINITY;
  return {
    name: "follow-attempts",
    signal: context.signals.observe,
    interval: 250,
    async runOnce() {
      const now = context.clock.monotonic();
      const hinted = new Set(context.hints);
      context.hints.clear();
      const full = now - lastFullPass >= fullPassEvery;
      if (full) lastFullPass = now;
      // Asked before the rows are: one that is accepted in between would look open still.
      const collected = new Set(context.collecting.keys());
      const isEnding = (key: string) => collected.has(key) || context.collecting.has(key);
      const open = await openAttempts(context.store.db, context.serverId);
      await context.closed.compare(open, isEnding);
      grace.keep(new Set(open.map(keyOf)));
      const due = open
        .filter((attempt) => full || hinted.has(keyOf(attempt)) || attempt.status === "CANCELING")
        .filter((attempt) => !isEnding(keyOf(attempt)));
      const ended: Ended[] = [];
      for (const attempt of due) {
        const end = await look(context, attempt, begun);
        if (end) ended.push(end);
      }
      if (ended.length > 0) await finish(context, ended);
      if (full && !context.signals.endsSeen) tellEndsSeen(context);
    },
  };
}

/** The datasets of ends that were found are read back first: only then are they written down. */
function tellEndsSeen({ signals, collecting }: Observing): void {
  void Promise.all(collecting.values()).then(() => {
    signals.endsSeen = true;
    signals.schedules.wake();
  });
}

/** What has become of an attempt. One that cannot be looked at holds up no other. */
async function look(context: Observing, attempt: OpenAttempt, begun: string): Promise<Ended | undefined> {
  try {
    const observation = await context.engine.observe(keyOf(attempt), attempt.boot_id);
    if (observation.state === "EXITED" || observation.state === "LOST") return { attempt, observation };
    await progress(context, attempt, observation, begun);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    // A full disk is told by the loop that starts jobs, once.
    const level = isDiskFull(error) ? "debug" : "error";
    context.log[level](
      { err: error, attempt: keyOf(attempt) },
      "the attempt could not be looked at; it is tried again",
    );
  }
  return undefined;
}

const keyOf = ({ job_id, attempt }: OpenAttempt) => attemptKey(job_id, attempt);

async function progress(
  context: Observing,
  attempt: OpenAttempt,
  observation: Observation,
  begun: string,
): Promise<void> {
  if (observation.state === "PENDING") return retryStart(context, attempt, begun);
  if (observation.state !== "RUNNING") return;
  if (attempt.status === "CANCELING") return cancel(context, attempt);
  if (attempt.status !== "INIT") return;
  const steps = JSON.stringify(observation.steps);
  if (!observation.querying && steps === attempt.steps) return;
  await context.store.write(async (db) => {
    if (!observation.querying) return setSteps(db, attempt.job_id, attempt.attempt, steps);
    return moveJob(db, {
      id: attempt.job_id,
      from: ["INIT"],
      to: "RUNNING",
      fence: attempt.attempt,
      changes: { steps },
    });
  });
  context.signals.jobChanged(attempt.job_id);
}

/** A start that was handed over by a server before this one, or too long ago, is taken back and tried again. */
async function retryStart(context: Observing, attempt: OpenAttempt, begun: string): Promise<void> {
  const ours = attempt.created_at >= begun;
  const patient = ours && !hasPassed(context.clock, attempt.created_at, claimPatience);
  if (patient && attempt.status !== "CANCELING") return;
  if (!(await context.engine.withdraw(keyOf(attempt)))) return;
  await requeueAttempt(context, fenceOf(attempt));
  context.closed.clean(fenceOf(attempt));
}

/** An exit that was recorded before the first signal keeps its own result: that is looked at before this is called. */
async function cancel({ store, engine, clock, grace }: Observing, attempt: OpenAttempt): Promise<void> {
  const { job_id, signalled_at } = attempt;
  const force = grace.isOver(keyOf(attempt)) && signalled_at !== null;
  if (signalled_at === null) await store.write((db) => markSignalled(db, job_id, attempt.attempt, iso(clock.now())));
  await engine.cancel(keyOf(attempt), force);
}

interface Ended {
  attempt: OpenAttempt;
  observation: Observation & { state: "EXITED" | "LOST" };
}

/** Nothing outlives its job: what is left is ended before the result is accepted, or the result waits. */
async function finish(context: Observing, all: readonly Ended[]): Promise<void> {
  const alive = await context.engine.sweep(all.map(({ attempt }) => keyOf(attempt)));
  for (const attempt of alive) context.log.warn({ attempt }, "a process of an ended job cannot be killed yet");
  const ended = all.filter(({ attempt }) => !alive.includes(keyOf(attempt)));
  context.faults.pass("exit-observed");
  for (const end of ended.filter(usedDatasets)) collectLater(context, end);
  const others = ended.filter((end) => !usedDatasets(end));
  await accept(context, await Promise.all(others.map((end) => resultOf(context, end))));
}

/** Only what was accepted is cleaned: the rest is looked at again, and what the job said lies in its folder. */
async function accept(context: Observing, results: readonly Result[]): Promise<void> {
  if (results.length === 0) return;
  context.closed.expect(results.map(({ fence }) => fence));
  const accepted = await acceptResults(context, results);
  context.faults.pass("result-committed");
  for (const { fence } of accepted) context.closed.clean(fence);
}

/** A job that did not come so far has not touched them. */
const usedDatasets = ({ observation }: Ended) => observation.steps.some(({ name }) => name === "datasets");

/** Aside: other jobs' ends do not wait for it. */
function collectLater(context: Observing, end: Ended): void {
  const key = keyOf(end.attempt);
  const { job_id: jobId, team_id: teamId, created_at: startedAt } = end.attempt;
  const canceled = end.attempt.status === "CANCELING" && end.attempt.signalled_at !== null;
  const python = end.observation.state === "EXITED" ? end.observation.python : null;
  const collecting = resultOf(context, end)
    .then((result) => collectDatasets(context, { teamId, jobId, startedAt, canceled, python, result }))
    .then((result) => acceptCollected(context, end, result))
    .then(() => context.signals.stores.wake())
    .catch((error) =>
      context.log[isPassing(error) ? "debug" : "error"](
        { err: error, attempt: key },
        "the result could not be written; it is tried again",
      ),
    )
    .finally(() => context.collecting.delete(key));
  context.collecting.set(key, collecting);
}

/** Datasets that cannot be written must not keep a job from ending: then it ends without them, and says so. */
async function acceptCollected(context: Observing, end: Ended, result: Result): Promise<void> {
  try {
    await accept(context, [result]);
  } catch (error) {
    if (!result.collected || isPassing(error)) throw error;
    context.log.error({ err: error, attempt: keyOf(end.attempt) }, "what the job made could not be written");
    await accept(context, [withoutDatasets(result)]);
  }
}

async function resultOf(context: FollowContext, { attempt, observation }: Ended): Promise<Result> {
  const steps = JSON.stringify(observation.steps);
  const signalled = attempt.signalled_at !== null;
  const base = { fence: fenceOf(attempt), signalled, inPipeline: attempt.pipeline_id !== null };
  if (observation.state === "LOST") {
    const error_message = `The job was lost: ${observation.why}.`;
    const lastWords = "It was not run again; rerun it if that is safe.";
    return { ...base, status: "FAILED", lastWords, changes: { steps, error_message } };
  }
  const { exit } = observation;
  const overLimit = limitOf(attempt, observation);
  const told = await whatItSaid(context, attempt.job_id, { ...observation, overLimit }).catch((error) => {
    if (isUnavailable(error)) throw error;
    // Without its secrets in hand nothing of what a job said can be shown; its end stands all the same.
    context.log.error({ err: error, job: attempt.job_id }, "what the job said of itself cannot be read");
    const why = overLimit ?? (exit.code === 0 ? null : describeExit(exit.code));
    return why === null ? {} : { error_message: why };
  });
  const changes = { steps, exit_code: exit.code, finished_at: iso(exit.finishedAt), ...told };
  const good = exit.code === 0 && overLimit === null;
  return { ...base, status: good ? "COMPLETE" : "FAILED", changes };
}

/** A script that came to its end by itself, in the moment in which its time was over, has done its work. */
function limitOf({ timeout }: OpenAttempt, { exit, overLimit }: Observation & { state: "EXITED" }): string | null {
  const isTime = timeout !== null && overLimit === overTime(timeout);
  return isTime && exit.code === 0 ? null : overLimit;
}

/** Metrics, and the reason of a failure, without secrets. */
async function whatItSaid(
  context: FollowContext,
  jobId: string,
  { exit, metrics: json, overLimit }: Observation & { state: "EXITED" },
): Promise<Result["changes"]> {
  const metrics = json === null ? {} : { metrics: await maskMetrics(context, jobId, json) };
  if (exit.code === 0) return overLimit === null ? metrics : { ...metrics, error_message: overLimit };
  const job = await getJob(context.store.db, jobId);
  const queryType = job && readSpec(job).query_type;
  const failure = await describeFailure(context, jobId, exit, queryType, overLimit);
  const reason = job && (await withNamesakes(context.store.db, job.team_id, failure.error_message));
  return { ...metrics, ...failure, ...(reason === undefined ? {} : { error_message: reason }) };
}
