/** An engine whose jobs run elsewhere: a placer brings a runner there, and the runner does the rest. */
import { readdir } from "node:fs/promises";
import { durationWords, usualLeaseSeconds } from "@millrace/contract";
import { Turns } from "../../turns/turns.ts";
import {
  type Attempt,
  attemptKey,
  CannotStart,
  type Engine,
  EngineUnreachable,
  type JobSpec,
  jobIdOf,
  type LogSource,
  type Observation,
  shortened,
} from "../engine.ts";
import { overDisk, overLogSize, overMemory, overProcesses, overSeconds, type RemoteLimits } from "../limit-words.ts";
import { LogFile } from "../log-file.ts";
import { readInsideScripts } from "../phases/inside-scripts.ts";
import { stepsOf } from "../phases/steps.ts";
import { readSamples } from "../usage-file.ts";
import { understood } from "./calls.ts";
import { ForcedEnds, obeyMs } from "./forced-ends.ts";
import { Leftovers } from "./leftovers.ts";
import type { EndedRunner, Placed, Placer } from "./placer.ts";
import { RemovalTurns } from "./removal-turns.ts";
import type { End, PackOwner, RunnerFolder } from "./runner-folder.ts";
import { readPacker, readRunner } from "./runner-text.ts";
import { begunPhases, type Runners } from "./runners.ts";
import { type RunnerScript, sharesEnvironment, travellingJob } from "./travelling-job.ts";

export interface RunnerEngineOptions {
  readonly isolation: Engine["capabilities"]["isolation"];
  readonly jobsDir: string;
  readonly runners: Runners;
  readonly placer: Placer;
  /** Returns the URL at which runners reach the server. */
  readonly url: () => string;
  /**
   * An attempt counts as lost if the engine no longer lists it and its runner was not heard for this many milliseconds.
   */
  readonly silenceMs?: number;
  /**
   * If another attempt may follow, a runner that has not heard the server for this many seconds ends its job, and the
   * attempt counts as lost only after that.
   */
  readonly leaseSeconds?: number;
  /** An attempt that no runner has claimed after this many seconds fails; absent or 0 if it may wait for ever. */
  readonly startSeconds?: number;
  /** Limits of every attempt; absent if there are none. */
  readonly limits?: RemoteLimits;
  /** What sets a limit, in words for the job's owner, if it is not the server's configuration. */
  readonly limitSettings?: { readonly memory?: string; readonly seconds?: string };
  /** Where runners keep virtualenvs for later jobs on the machines of the cluster; absent if they keep none. */
  readonly environments?: KeptEnvironments;
  /** Whether virtualenvs are packed into the storage of the server. */
  readonly packs?: boolean;
}

interface KeptEnvironments {
  readonly folder: string;
  /** A virtualenv is removed after this many days without use; 0 means never. */
  readonly days: number;
  /** All together may occupy this many bytes; 0 means any number. */
  readonly bytes: number;
}

/** The most submissions at a time. A cluster that comes back may have a thousand jobs to start. */
const mostSubmissions = 8;

const usualSilenceMs = 60_000;

/**
 * For this many milliseconds after a list of the engine, attempts whose runners have just been heard are not looked for
 * in another one: many short jobs would ask for a list each time one begins or ends. It is less than the time between
 * two looks at all attempts, so that an engine that does not answer any more is noticed.
 */
const listMs = 900;

/** What the folder of an attempt notes as its lease if its runner was told of none. */
const noLease = "0";

/** What the engine says of a runner: that it waits or runs, or how it ended. */
interface Told {
  readonly placed: Placed | undefined;
  readonly ended: EndedRunner | undefined;
}

export class RunnerEngine implements Engine {
  readonly capabilities: Engine["capabilities"];
  readonly inFlight?: number;
  readonly #options: RunnerEngineOptions;
  readonly #scripts: ReadonlyMap<RunnerScript, string>;
  readonly #runner: string;
  readonly #silenceMs: number;
  readonly #terms: { readonly limits: RemoteLimits; readonly leaseSeconds: number };
  readonly #submitting = new Map<string, Promise<string>>();
  readonly #submissions = new Turns(mostSubmissions);
  /** When each attempt was first missing in the engine's list, by the monotonic clock. */
  readonly #missing = new Map<string, number>();
  /** Attempts that no runner has claimed: since when this server sees them wait, by the monotonic clock, and why. */
  readonly #waiting = new Map<string, { readonly since: number; readonly reason: string }>();
  readonly #forced: ForcedEnds;
  readonly #removalTurns: RemovalTurns;
  /** When the engine last gave a list, by the monotonic clock. */
  #listedAt = Number.NEGATIVE_INFINITY;
  /** Why the last removal of a runner that must end failed. */
  readonly #failed = new Map<string, unknown>();
  readonly #leftovers: Leftovers;

  static open = async (options: RunnerEngineOptions): Promise<RunnerEngine> =>
    new RunnerEngine(
      options,
      new Map<RunnerScript, string>([...(await readInsideScripts()), ["packs.py", await readPacker()]]),
      await readRunner(),
    );

  private constructor(options: RunnerEngineOptions, scripts: ReadonlyMap<RunnerScript, string>, runner: string) {
    this.#options = options;
    this.#scripts = scripts;
    this.#runner = runner;
    this.#silenceMs = options.silenceMs ?? usualSilenceMs;
    this.#terms = {
      limits: options.limits ?? noLimits,
      leaseSeconds: options.leaseSeconds ?? usualLeaseSeconds,
    };
    this.#forced = new ForcedEnds(options.runners.now);
    this.#removalTurns = new RemovalTurns(options.placer);
    this.#leftovers = new Leftovers({
      remove: (key) => this.#removalTurns.remove(key, null),
      folder: options.runners.folder,
      now: options.runners.now,
    });
    this.capabilities = { isolation: options.isolation };
    if (options.placer.inFlight !== undefined) this.inFlight = options.placer.inFlight;
  }

  /** Submits an attempt. Concurrent calls with the same key share one submission, so that they place one runner. */
  submit(spec: JobSpec): Promise<string> {
    const underWay = this.#submitting.get(spec.key);
    if (underWay) return underWay;
    const submitting = this.#submissions.run(() => this.#submit(spec)).finally(() => this.#submitting.delete(spec.key));
    this.#submitting.set(spec.key, submitting);
    return submitting;
  }

  async #submit(spec: JobSpec): Promise<string> {
    if (spec.datasets !== null) throw new CannotStart(noDatasets);
    const { runners, placer, url, environments } = this.#options;
    const folder = this.#folder(spec.key);
    if (folder.claim() || folder.has("placed")) return folder.text("placed");
    folder.make();
    if (!folder.has("job")) {
      for (const [index, file] of spec.files.entries()) await file.placeAt(`${folder.path}/file.${index}`);
      folder.write("lease", spec.isRetried ? String(this.#terms.leaseSeconds) : noLease);
      folder.writeJson("limits", this.#terms.limits);
      const packs = (this.#options.packs ?? false) && sharesEnvironment(spec);
      if (packs) folder.writeJson("packs", { team: spec.teamId, person: spec.person } satisfies PackOwner);
      folder.writeJson("job", travellingJob(spec, this.#scripts, { ...this.#terms, packs }));
    }
    const isRepeated = folder.has("code");
    const variables = {
      MILLRACE_RUNNER_URL: url(),
      MILLRACE_RUNNER_KEY: spec.key,
      MILLRACE_RUNNER_CODE: runners.offer(spec.key),
      ...(environments ? keptVariables(environments) : {}),
    };
    const { key, workers, priority } = spec;
    folder.noteThere();
    const handle = await placer.place({ key, runner: this.#runner, variables, workers, priority, isRepeated });
    folder.write("placed", handle);
    return handle;
  }

  async observe(attempts: readonly Attempt[]): Promise<Map<string, Observation>> {
    const { placer } = this.#options;
    if (this.#isListed(attempts)) return this.#lookAlone(attempts);
    try {
      const listed = await understood(placer.list());
      this.#listedAt = this.#now();
      const ended = await this.#ended(attempts.map(({ key }) => key).filter((key) => !listed.has(key)));
      // Nobody waits for it: what is left of ended attempts delays no others.
      void this.#leftovers.repeat(listed.keys()).catch(() => {});
      return new Map(
        attempts.map((attempt) => {
          const { key } = attempt;
          return [key, this.#look(attempt, { placed: listed.get(key), ended: ended.get(key) })];
        }),
      );
    } catch (error) {
      this.#listedAt = Number.NEGATIVE_INFINITY;
      // Only answers of the engine count: while it gives none, nothing is missing, and no wait counts.
      this.#missing.clear();
      if (error instanceof EngineUnreachable) error.seen = this.#seenAlone(attempts);
      // What was looked at alone did not wait for the engine.
      this.#waiting.clear();
      throw error;
    }
  }

  /** Whether the engine has just been asked, and a list would tell nothing that these runners have not said themselves. */
  #isListed(attempts: readonly Attempt[]): boolean {
    if (attempts.length === 0 || this.#now() - this.#listedAt >= listMs) return false;
    return attempts.every(({ key }) => {
      const folder = this.#folder(key);
      if (folder.has("end")) return true;
      const isHeard = folder.has("claim") && !this.#isSilent(key, this.#silenceMs);
      return isHeard && !folder.has("force") && !this.#missing.has(key);
    });
  }

  /**
   * What is known without the engine: how a job ended, that its runner is alive, or that no runner has claimed it. So a
   * job ends, and can be canceled, while the engine is away.
   */
  #seenAlone(attempts: readonly Attempt[]): ReadonlyMap<string, Observation> {
    const isKnown = ({ key }: Attempt) =>
      this.#folder(key).end() || !this.#folder(key).claim() || !this.#isSilent(key, this.#silenceMs);
    return this.#lookAlone(attempts.filter(isKnown));
  }

  /** Looks at attempts as if the engine had listed their runners. */
  #lookAlone(attempts: readonly Attempt[]): Map<string, Observation> {
    const told: Told = { placed: { isRunning: true, reason: "" }, ended: undefined };
    return new Map(attempts.map((attempt) => [attempt.key, this.#look(attempt, told)]));
  }

  /** Asks the engine about runners that are neither listed nor heard. Most of the time there are none. */
  async #ended(missing: readonly string[]): Promise<ReadonlyMap<string, EndedRunner>> {
    const { placer } = this.#options;
    const silent = missing.filter((key) => this.#isSilent(key, this.#silenceMs) && !this.#folder(key).has("end"));
    return silent.length > 0 && placer.ended ? understood(placer.ended(silent)) : new Map();
  }

  #look(attempt: Attempt, told: Told): Observation {
    try {
      return this.#observe(attempt, shortTold(told));
    } catch (error) {
      return { state: "UNKNOWN", error };
    }
  }

  #observe(attempt: Attempt, { placed, ended }: Told): Observation {
    const { key } = attempt;
    const folder = this.#folder(key);
    const end = folder.end();
    if (end) return this.#exited(folder, end);
    const claim = folder.claim();
    if (claim?.instance === null) return { state: "ABSENT" };
    const isGone = this.#isGone(key, placed) || ended !== undefined;
    if (claim === undefined) return this.#unclaimed(attempt, { placed, ended }, isGone);
    const mayRunOn = this.#mayRunOn(folder, ended);
    if (placed === undefined && this.#forced.isRemoved(key) && this.#mayEnd(folder, key, isGone))
      return this.#exited(folder, this.#options.runners.endRemoved(key, mayRunOn));
    const steps = stepsOf(begunPhases(folder.steps()), undefined);
    // If the engine knows for certain that the runner has ended, nobody has to wait for its lease.
    const lease = ended?.isCertain ? 0 : 1000 * this.#leaseOf(folder);
    if (!isGone || !this.#isSilent(key, this.#silenceMs + lease))
      return { state: "RUNNING", steps, querying: steps.at(-1)?.name === "query" };
    return {
      state: "LOST",
      steps,
      why: `its runner on ${claim.host} ended without a word${ended === undefined ? "" : ` (${ended.how})`}`,
      ...(mayRunOn ? { mayRunOn } : {}),
    };
  }

  /**
   * Whether a runner that is neither listed nor heard may go on for ever: nobody knows for certain that it ended, and it
   * was told of no lease. The rules by which its job is retried may have been changed since it was told.
   */
  #mayRunOn = (folder: RunnerFolder, ended: EndedRunner | undefined) =>
    !ended?.isCertain && this.#leaseOf(folder) === 0;

  #exited(folder: RunnerFolder, end: End): Observation {
    const { code, phase, finishedAt, metrics } = end;
    const steps = stepsOf(begunPhases(end.steps), finishedAt);
    const overLimit = folder.text("limit") || this.#limitWords(folder, end) || this.#overLog(folder);
    const doubt = end.mayRunOn ? { mayRunOn: end.mayRunOn } : {};
    return { state: "EXITED", steps, exit: { code, phase, finishedAt }, metrics, overLimit, ...doubt };
  }

  /**
   * Whether an attempt ends by the server's word, after the engine has removed its runner and does not list it. If
   * another attempt may follow, the engine must have missed it for longer; and a runner that is not heard may be on a
   * node that the engine has lost, so that its lease decides.
   */
  #mayEnd = (folder: RunnerFolder, key: string, isGone: boolean) =>
    this.#leaseOf(folder) === 0 || (isGone && !this.#isSilent(key, this.#silenceMs));

  /** The state of an attempt that no runner has claimed. */
  #unclaimed({ key, handle }: Attempt, { placed, ended }: Told, isGone: boolean): Observation {
    const folder = this.#folder(key);
    // It never ran, so another attempt may wait in its place.
    if (placed?.isGivenUp) return { state: "ABSENT" };
    if (placed) this.#noteWaiting(key, placed);
    if (placed?.isRunning) return { state: "SUBMITTED" };
    if (placed) {
      if (placed.reason !== "") folder.say(`The job waits on its cluster. ${placed.reason}`);
      return { state: "WAITING", reason: placed.reason };
    }
    if (handle === null && !folder.has("placed")) return { state: "ABSENT" };
    if (!isGone) return { state: "SUBMITTED" };
    // The claim decides: a runner that comes up now gets nothing.
    const claim = folder.claimFor({ instance: null, host: "", at: Date.now() });
    if (claim.instance !== null) return { state: "RUNNING", steps: [], querying: false };
    // If the engine has simply forgotten it, it never ran, and another attempt may take its place.
    if (ended === undefined) return { state: "ABSENT" };
    const why = `its runner ended before it reached this server (${ended.how})`;
    if (this.#isHopeless(key)) return { state: "LOST", steps: [], why };
    folder.noteUnbegun();
    return { state: "ABSENT", why };
  }

  /** Whether two attempts before this one ended like this: what a node or its cluster did may not happen again. */
  #isHopeless(key: string): boolean {
    const [job, number] = [jobIdOf(key), Number(key.slice(key.lastIndexOf(".") + 1))];
    return [1, 2].every((back) => this.#folder(attemptKey(job, number - back)).isUnbegun());
  }

  #limitWords(folder: RunnerFolder, { overLimit }: End): string | null {
    if (overLimit === null) return null;
    if (overLimit === "lease") return unheard(this.#leaseOf(folder));
    const limits = this.#limitsOf(folder);
    const words = { processes: overProcesses, disk: overDisk, log: overLogSize };
    if (limits[overLimit] === 0) return null;
    return overLimit === "memory" ? overMemory(limits, this.#options.limitSettings?.memory) : words[overLimit](limits);
  }

  /** Says that the log is longer than its limit, although the runner did not say so: a job can act in its name. */
  #overLog(folder: RunnerFolder): string | null {
    const limits = this.#limitsOf(folder);
    return limits.log > 0 && folder.sentSize() > limits.log ? overLogSize(limits) : null;
  }

  /** An attempt keeps the limits that its runner got, also if the server was restarted with others. */
  #limitsOf = (folder: RunnerFolder): RemoteLimits => folder.limits() ?? this.#terms.limits;

  /** The same for the lease in seconds, 0 without one. Attempts of older versions have noted only that there is one. */
  #leaseOf(folder: RunnerFolder): number {
    const noted = folder.text("lease");
    return noted === "" && folder.has("lease") ? this.#terms.leaseSeconds : Number(noted);
  }

  #noteWaiting(key: string, { isRunning, reason }: Placed): void {
    const since = this.#waiting.get(key)?.since ?? performance.now();
    const why = isRunning ? "Its runner was started there, and has not reached this server." : reason;
    this.#waiting.set(key, { since, reason: why });
  }

  /**
   * Fails an attempt that has waited on the cluster for too long. The wait is counted anew after a restart of the
   * server, because the wall clock may be set meanwhile.
   */
  #endWaiting(key: string): void {
    const { startSeconds = 0 } = this.#options;
    const waited = this.#waiting.get(key);
    if (startSeconds === 0 || waited === undefined || performance.now() - waited.since < 1000 * startSeconds) return;
    const folder = this.#folder(key);
    // The claim decides: a runner that comes up now gets nothing.
    if (folder.claimFor({ instance: null, host: "", at: Date.now() }).instance !== null) return;
    folder.write("limit", notStarted(startSeconds, waited.reason));
    const end = { code: 1, phase: "start", finishedAt: Date.now(), steps: [], overLimit: null, metrics: null };
    folder.writeJson("end", end satisfies End);
  }

  /** Whether the engine has not listed the attempt for a while. */
  #isGone(key: string, placed: Placed | undefined): boolean {
    if (placed) {
      this.#missing.delete(key);
      return false;
    }
    const now = this.#now();
    const since = this.#missing.get(key) ?? now;
    this.#missing.set(key, since);
    return now - since >= (this.#options.placer.absentMs ?? this.#silenceMs);
  }

  #isSilent(key: string, ms: number): boolean {
    const { runners } = this.#options;
    return this.#now() - (runners.heard(key)?.at ?? runners.opened) >= ms;
  }

  async withdraw({ key, handle }: Attempt): Promise<boolean> {
    const { instance } = this.#folder(key).claimFor({ instance: null, host: "", at: Date.now() });
    if (instance !== null) return false;
    // No runner can claim it any more, so nobody waits for the removal, which the cleanup repeats if it fails: a runner
    // that comes up runs nothing.
    this.#removalTurns.remove(key, handle).catch(() => {});
    return true;
  }

  async cancel(attempt: Attempt, force: boolean): Promise<void> {
    this.#options.runners.order(attempt.key, { force });
    if (force) this.#insist(attempt);
  }

  /**
   * A runner that hears nothing, or that does not end its job, is removed by its engine. Nobody waits for that, so the
   * next call throws why it failed; it is tried again after that.
   */
  #insist({ key, handle }: Attempt): void {
    const failed = this.#failed.get(key);
    this.#failed.delete(key);
    if (failed !== undefined) throw failed;
    if (this.#folder(key).end() || !this.#forced.isDue(key, this.#isSilent(key, obeyMs))) return;
    this.#removalTurns.remove(key, handle).then(
      () => this.#forced.noteRemoved(key),
      (error) => this.#failed.set(key, error),
    );
  }

  hasEnded = async (key: string) => this.#folder(key).end() !== undefined;

  async end(attempt: Attempt, why: string): Promise<void> {
    const folder = this.#folder(attempt.key);
    if (folder.end()) return;
    if (!folder.has("limit")) folder.write("limit", why);
    await this.cancel(attempt, true);
  }

  async find(): Promise<string[]> {
    const keys: string[] = [];
    // One after another: there may be a hundred thousand folders of ended attempts, and requests must not wait for them.
    for (const key of await readdir(this.#options.jobsDir)) if (await this.#folder(key).isLeft()) keys.push(key);
    return keys;
  }

  async cleanup(key: string): Promise<void> {
    const { runners, placer } = this.#options;
    const folder = this.#folder(key);
    this.#missing.delete(key);
    this.#waiting.delete(key);
    this.#forced.forget(key);
    this.#failed.delete(key);
    runners.forget(key);
    await folder.clean();
    // A runner that never claimed the attempt may still wait there.
    if (placer.leavesNothing && folder.has("end") && folder.claim()?.instance !== null) return folder.noteGone();
    await this.#leftovers.remove(key);
  }

  async age(key: string): Promise<number | undefined> {
    const heard = this.#options.runners.heard(key);
    return heard && !this.#folder(key).end() ? heard.age + this.#now() - heard.at : undefined;
  }

  usage = async (key: string) => readSamples(this.#folder(key).usage);

  /** Ends an attempt that is over a limit which the server can see. Its runner enforces the others. */
  async watch(key: string): Promise<void> {
    const folder = this.#folder(key);
    if (folder.claim()) this.#waiting.delete(key);
    else this.#endWaiting(key);
    // It was ordered before, perhaps by a server that has been restarted since.
    if (folder.has("force")) return this.#insist(named(key));
    const limits = this.#limitsOf(folder);
    const age = (await this.age(key)) ?? 0;
    if (limits.seconds > 0 && age > 1000 * limits.seconds)
      await this.end(named(key), overSeconds(limits, this.#options.limitSettings?.seconds));
    else if (limits.log > 0 && folder.sentSize() > limits.log) await this.end(named(key), overLogSize(limits));
  }

  async openLog(key: string): Promise<LogSource> {
    return new LogFile(this.#folder(key).log);
  }

  logBytes = async (key: string) => this.#folder(key).logBytes();
  forget = (key: string) => this.#folder(key).remove();
  close = () => this.#options.placer.close();

  #now = () => this.#options.runners.now();
  #folder = (key: string) => this.#options.runners.folder(key);
}

const shortTold = ({ placed, ended }: Told): Told => ({
  placed: placed && { ...placed, reason: shortened(placed.reason) },
  ended: ended && { ...ended, how: shortened(ended.how) },
});

const keptVariables = ({ folder, days, bytes }: KeptEnvironments) => ({
  MILLRACE_RUNNER_ENVIRONMENTS: folder,
  MILLRACE_RUNNER_KEPT_DAYS: String(days),
  MILLRACE_RUNNER_KEPT_BYTES: String(bytes),
});

const named = (key: string): Attempt => ({ key, handle: null, epoch: "" });

const noLimits: RemoteLimits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 0 };

const unheard = (seconds: number) =>
  `The job was ended because its machine could not reach the server for ${durationWords(seconds)}, and another attempt may follow.`;

const notStarted = (seconds: number, reason: string) =>
  `The job was ended because it did not start on its cluster within ${durationWords(seconds)} (option start_seconds of its cluster). ${reason || "The cluster does not say why."}`;

const noDatasets =
  "This job uses the dataset library, and datasets are on the server's own machine. Run it on the cluster local.";
