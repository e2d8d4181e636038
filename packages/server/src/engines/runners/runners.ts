/**
 * The server's side of the runner protocol: a runner claims its attempt, sends the log, beats, and reports the end.
 * Everything that must survive the server is in the attempt's folder. docs/engines.md describes the protocol.
 */
import { hash, randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { UsageSample } from "@millrace/contract";
import { type BegunPhase, phases } from "../phases/steps.ts";
import { appendSample, isDue } from "../usage-file.ts";
import { type Begun, type End, isKey, type PackOwner, RunnerFolder, type RunnerLimit } from "./runner-folder.ts";

/**
 * A runner is refused: the attempt is `taken` by another runner or `over`, its log is `incomplete` or `full`, the file
 * or pack that it asks for is `missing`, or it may not use or store that pack (`foreign`).
 */
export class RunnerRefused extends Error {
  readonly why: "taken" | "over" | "incomplete" | "full" | "missing" | "foreign";
  constructor(why: RunnerRefused["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/** What a runner presents: the code of its attempt to claim it, then the token that it got. */
export interface Presented {
  readonly key: string;
  readonly kind: "code" | "token";
  readonly secret: string;
}

export interface Orders {
  readonly cancel: boolean;
  readonly force: boolean;
}

export interface Beat {
  readonly steps: readonly Begun[];
  /** Seconds since the runner began, by its monotonic clock. */
  readonly age: number;
  /** The orders that the runner has carried out. */
  readonly orders: Orders;
  readonly usage: Usage | null;
  /** False if the runner only tells something and does not wait for an order. */
  readonly wait?: boolean;
}

/** What the processes of a job use. */
type Usage = Omit<UsageSample, "at">;

export interface ReportedEnd {
  readonly exit_code: number;
  readonly phase: string;
  readonly finished_at: number;
  readonly log_size: number;
  readonly steps: readonly Begun[];
  readonly usage: Usage | null;
  readonly over_limit: RunnerLimit | null;
  readonly metrics: Readonly<Record<string, unknown>> | null;
}

/** When a runner was last heard, by the monotonic clock, and its age then; both in milliseconds. */
interface Heard {
  readonly at: number;
  readonly age: number;
}

/** A beat is answered after this many milliseconds, or at once if there is an order that the runner does not know. */
const beatMs = 5000;

/** Bytes of a log that are accepted beyond its limit, so that a runner that keeps the limit is never refused. */
const logSlack = 2 * 1024 * 1024;

/** Exit code of a job that was killed. */
const killed = 137;

const hashOf = (secret: string) => hash("sha256", secret);

export class Runners {
  readonly #jobsDir: string;
  readonly #heard = new Map<string, Heard>();
  /** When usage of each attempt was first and last noted, by the monotonic clock: a runner may say any age. */
  readonly #sampled = new Map<string, { readonly begun: number; readonly last: number }>();
  readonly #orders = new EventEmitter().setMaxListeners(0);
  readonly #appending = new Map<string, Promise<number>>();
  readonly #onChange: (key: string, what: string) => void;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly opened: number;

  constructor(jobsDir: string, onChange: (key: string, what: string) => void, now = () => performance.now()) {
    this.#jobsDir = jobsDir;
    this.#onChange = onChange;
    this.now = now;
    this.opened = now();
  }

  folder = (key: string) => new RunnerFolder(this.#jobsDir, key);
  heard = (key: string) => this.#heard.get(key);
  forget(key: string): void {
    this.#heard.delete(key);
    this.#sampled.delete(key);
  }

  /**
   * Returns a new code with which a runner can claim the attempt. Earlier codes stay valid, because a runner that was
   * placed with one may be found and adopted; only one runner can claim the attempt in any case.
   */
  offer(key: string): string {
    const code = randomBytes(32).toString("base64url");
    const folder = this.folder(key);
    folder.write("code", `${folder.text("code")}${hashOf(code)}\n`);
    return code;
  }

  /** Tells the runner to end the job. It hears of it within a moment if it can be reached. */
  order(key: string, { force }: Pick<Orders, "force">): void {
    const folder = this.folder(key);
    if (!folder.has("cancel")) folder.write("cancel", "");
    if (force && !folder.has("force")) folder.write("force", "");
    this.#orders.emit(key);
  }

  /** Tells whether this is the secret of the attempt. */
  knows({ key, kind, secret }: Presented): boolean {
    return isKey(key) && this.folder(key).holds(kind, hashOf(secret));
  }

  /** Gives the attempt to a runner. The same runner may ask again, because an answer may be lost. */
  claim(key: string, runner: { readonly instance: string; readonly host: string }) {
    const folder = this.folder(key);
    const { instance } = folder.claimFor({ ...runner, at: Date.now() });
    if (instance === null || folder.end()) throw over();
    if (instance !== runner.instance) throw new RunnerRefused("taken", "Another runner has claimed this attempt.");
    folder.beginLog();
    const token = randomBytes(32).toString("base64url");
    folder.write("token", hashOf(token));
    this.#hear(key, 0);
    this.#onChange(key, "claim");
    return { token, orders: this.#ordersOf(folder), pack_ticket: ticketFor(folder), job: folder.text("job") };
  }

  /**
   * Returns whose pack of a virtualenv the runner gets. An attempt has one virtualenv, so the first that it asks for is
   * the only one.
   */
  askForPack(key: string, environment: string): PackOwner {
    const folder = this.#running(key);
    const owner = folder.packs();
    if (!owner) throw new RunnerRefused("foreign", "The virtualenv of this job is not packed.");
    if (!folder.has("environment")) folder.write("environment", environment);
    if (folder.text("environment") !== environment)
      throw new RunnerRefused("foreign", "This attempt has asked for another virtualenv.");
    return owner;
  }

  /** Throws unless the runner may store the pack of the virtualenv that it asked for, and has not done so. */
  checkPackTicket(key: string, environment: string, ticket: string): PackOwner {
    const folder = this.#running(key);
    const owner = folder.packs();
    if (!owner || folder.text("environment") !== environment || !folder.holds("ticket", hashOf(ticket)))
      throw new RunnerRefused("foreign", "This attempt may not store a pack of this virtualenv.");
    return owner;
  }

  /** A ticket works once. */
  async endPackTicket(key: string): Promise<void> {
    await rm(join(this.folder(key).path, "ticket"), { force: true });
  }

  /** Opens an attached file of the job. */
  async file(key: string, index: number) {
    try {
      return (await open(join(this.#running(key).path, `file.${index}`))).createReadStream();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw new RunnerRefused("missing", `The job has no file ${index}.`);
    }
  }

  /** Appends to the log; calls for one attempt are carried out one after another. Returns the size of the log then. */
  append(key: string, offset: number, parts: readonly Uint8Array[]): Promise<number> {
    const folder = this.#running(key);
    // A runner that sends the rest of a long log after the end of its job does not beat any more.
    this.#hear(key, 0);
    const appending = (this.#appending.get(key) ?? Promise.resolve(0))
      .catch(() => 0)
      .then(() => {
        refuseIfFull(folder, sizeOf(parts));
        return folder.append(offset, parts);
      });
    this.#appending.set(key, appending);
    return appending.finally(() => {
      if (this.#appending.get(key) === appending) this.#appending.delete(key);
    });
  }

  /** Notes that the runner is alive, and returns its orders: when there is a new one, or after a while. */
  async beat(key: string, beat: Beat, gone: AbortSignal): Promise<Orders> {
    const { steps, age, orders, usage, wait = true } = beat;
    const folder = this.#running(key);
    this.#hear(key, age * 1000);
    if (usage) this.#sample(folder, key, usage, age * 1000);
    // Two beats may overtake each other; steps are only ever added.
    if (steps.length > folder.steps().length) {
      folder.writeJson("steps", believableSteps(folder, steps));
      this.#onChange(key, steps.at(-1)?.name ?? "");
    }
    if (wait && !isNew(this.#ordersOf(folder), orders)) await this.#newOrder(key, gone);
    if (folder.end()) throw over();
    return this.#ordersOf(folder);
  }

  #sample(folder: RunnerFolder, key: string, usage: Usage, age: number): void {
    const now = this.now();
    const known = this.#sampled.get(key);
    const begun = known?.begun ?? now - age;
    if (!isDue(known?.last, begun, now)) return;
    this.#sampled.set(key, { begun, last: now });
    noteUsage(folder, usage);
  }

  /** Accepts the end of the attempt, once its log is here in full. Reporting it again changes nothing. */
  end(key: string, end: ReportedEnd): void {
    const folder = this.folder(key);
    if (folder.end()) return;
    const size = folder.sentSize();
    if (size < end.log_size)
      throw new RunnerRefused("incomplete", `The log has ${size} bytes here, not ${end.log_size}. Send the rest.`);
    if (end.usage) noteUsage(folder, end.usage);
    const steps = believableSteps(folder, end.steps);
    folder.writeJson("end", {
      code: end.exit_code,
      phase: end.phase,
      finishedAt: believable(end.finished_at, steps.at(-1)?.started_at ?? begunAt(folder)),
      steps,
      overLimit: end.over_limit,
      metrics: end.metrics === null ? null : JSON.stringify(end.metrics),
    } satisfies End);
    this.#onChange(key, "end");
  }

  /**
   * Ends an attempt whose runner was removed and has not reported the end. Nothing that the runner says later counts.
   * `mayRunOn` is set if nobody knows whether the runner has ended. Returns the end.
   */
  endRemoved(key: string, mayRunOn: boolean): End {
    const folder = this.folder(key);
    const steps = folder.steps();
    const phase = steps.at(-1)?.name ?? "start";
    const doubt = mayRunOn ? { mayRunOn } : {};
    const end = { code: killed, phase, finishedAt: Date.now(), steps, overLimit: null, metrics: null, ...doubt };
    folder.writeJson("end", end satisfies End);
    return end;
  }

  /**
   * Ends an attempt of which no engine will hear again, and deletes the job, which has its variables. If its runner
   * lives after all, its next call is refused, and it ends the job.
   */
  async abandon(key: string): Promise<void> {
    const folder = this.folder(key);
    if ((await folder.hasJob()) && !folder.end()) this.endRemoved(key, true);
    this.#orders.emit(key);
    this.forget(key);
    await folder.clean();
    await folder.noteGone();
  }

  #ordersOf = (folder: RunnerFolder): Orders => ({ cancel: folder.has("cancel"), force: folder.has("force") });

  async #newOrder(key: string, gone: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(beatMs)]);
    await once(this.#orders, key, { signal }).catch(() => {});
  }

  /** An attempt never becomes younger, although its runner counts from a moment after the claim. */
  #hear(key: string, age: number): void {
    const at = this.now();
    const before = this.#heard.get(key);
    this.#heard.set(key, { at, age: before ? Math.max(age, before.age + at - before.at) : age });
  }

  #running(key: string): RunnerFolder {
    const folder = this.folder(key);
    if (folder.end()) throw over();
    return folder;
  }
}

/**
 * Returns a ticket with which the runner can store the pack of its virtualenv; undefined if it is not packed. The runner
 * forgets the ticket before the code of its job starts, so that the job cannot store a pack in its name. So a claim that
 * is repeated later gets none.
 */
function ticketFor(folder: RunnerFolder): string | undefined {
  if (!folder.packs() || folder.steps().length > 0) return undefined;
  const ticket = randomBytes(32).toString("base64url");
  folder.write("ticket", hashOf(ticket));
  return ticket;
}

const over = () => new RunnerRefused("over", "This attempt is over, or it was withdrawn.");

const sizeOf = (parts: readonly Uint8Array[]) => parts.reduce((size, part) => size + part.length, 0);

/** The runner ends a job whose log is too long. This stops one that does not. */
function refuseIfFull(folder: RunnerFolder, more: number): void {
  const most = folder.limits()?.log ?? 0;
  if (most > 0 && folder.sentSize() + more > most + logSlack)
    throw new RunnerRefused("full", `The log is longer than its limit of ${most} bytes.`);
}

/** Whether there is an order that the runner does not know. */
const isNew = (given: Orders, known: Orders) => (given.cancel && !known.cancel) || (given.force && !known.force);

const noteUsage = ({ usage }: RunnerFolder, used: Usage) =>
  appendSample(usage, { at: new Date().toISOString(), ...used });

/** When the attempt was claimed, by the server's clock. */
const begunAt = (folder: RunnerFolder) => folder.claim()?.at ?? 0;

/**
 * Returns a time that a runner tells, or now if it cannot be: the clock of its machine may be wrong by years, and how
 * long logs are kept depends on these times.
 */
function believable(at: number, earliest: number): number {
  const now = Date.now();
  return at >= earliest && at <= now ? at : now;
}

/** Returns the steps that a runner tells. Those that were noted before keep their times. */
function believableSteps(folder: RunnerFolder, steps: readonly Begun[]): Begun[] {
  const known = folder.steps();
  const earliest = begunAt(folder);
  return steps.map((step, index) => known[index] ?? { ...step, started_at: believable(step.started_at, earliest) });
}

/** Returns the phases that a runner has begun, without names that are not known. */
export const begunPhases = (steps: readonly Begun[]): BegunPhase[] =>
  steps.flatMap(({ name, started_at: at }) => {
    const phase = phases.find((known) => known === name);
    return phase ? [{ phase, at }] : [];
  });
