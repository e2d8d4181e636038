/**
 * The server's side of the runner protocol: a runner claims its attempt, sends the log, beats, and reports the end.
 * Everything that must survive the server is in the attempt's folder. docs/engines.md describes the protocol.
 */
import { hash, randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { Phase } from "../phases/steps.ts";
import { type Begun, RunnerFolder } from "./runner-folder.ts";

/** A runner is refused: `wrong` secret, the attempt is `taken` by another runner, or it is `over`. */
export class RunnerRefused extends Error {
  readonly why: "wrong" | "taken" | "over";
  constructor(why: RunnerRefused["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/** What a runner presents with every call. */
export interface Presented {
  readonly key: string;
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
}

export interface ReportedEnd {
  readonly exit_code: number;
  readonly phase: string;
  readonly finished_at: number;
  readonly log_size: number;
  readonly steps: readonly Begun[];
  readonly metrics: Readonly<Record<string, unknown>> | null;
}

/** When a runner was last heard, by the monotonic clock, and its age then; both in milliseconds. */
interface Heard {
  readonly at: number;
  readonly age: number;
}

/** A beat is answered after this many milliseconds, or at once if there is an order that the runner does not know. */
const beatMs = 5000;

const hashOf = (secret: string) => hash("sha256", secret);

/** Keys become names of folders, so only these are accepted from outside. */
const isKey = (key: string) => /^[\w-]{1,64}\.\d{1,9}$/.test(key);

export class Runners {
  readonly #jobsDir: string;
  readonly #heard = new Map<string, Heard>();
  readonly #orders = new EventEmitter().setMaxListeners(0);
  readonly #appending = new Map<string, Promise<number>>();
  readonly #onChange: (key: string, what: string) => void;
  readonly opened = performance.now();

  constructor(jobsDir: string, onChange: (key: string, what: string) => void) {
    this.#jobsDir = jobsDir;
    this.#onChange = onChange;
  }

  folder = (key: string) => new RunnerFolder(this.#jobsDir, key);
  heard = (key: string) => this.#heard.get(key);
  forget = (key: string) => void this.#heard.delete(key);

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

  /** Gives the attempt to a runner. The same runner may ask again, because an answer may be lost. */
  claim({ key, secret }: Presented, runner: { readonly instance: string; readonly host: string }) {
    const folder = this.#known(key);
    if (!folder.holds("code", hashOf(secret))) throw wrong();
    const { instance } = folder.claimFor({ ...runner, at: Date.now() });
    if (instance === null || folder.end()) throw over();
    if (instance !== runner.instance) throw new RunnerRefused("taken", "Another runner has claimed this attempt.");
    const token = randomBytes(32).toString("base64url");
    folder.write("token", hashOf(token));
    this.#hear(key, 0);
    this.#onChange(key, "claim");
    return { token, job: folder.text("job") };
  }

  /** Opens an attached file of the job. */
  file(presented: Presented, index: number) {
    return createReadStream(join(this.#running(presented).path, `file.${index}`));
  }

  /** Appends to the log; calls for one attempt are carried out one after another. Returns the size of the log then. */
  append(presented: Presented, offset: number, bytes: Uint8Array): Promise<number> {
    const folder = this.#running(presented);
    const { key } = presented;
    const appending = (this.#appending.get(key) ?? Promise.resolve(0))
      .catch(() => 0)
      .then(() => folder.append(offset, bytes));
    this.#appending.set(key, appending);
    return appending.finally(() => {
      if (this.#appending.get(key) === appending) this.#appending.delete(key);
    });
  }

  /** Notes that the runner is alive, and returns its orders: when there is a new one, or after a while. */
  async beat(presented: Presented, { steps, age, orders }: Beat, gone: AbortSignal): Promise<Orders> {
    const folder = this.#running(presented);
    const { key } = presented;
    this.#hear(key, age * 1000);
    if (JSON.stringify(steps) !== folder.text("steps")) {
      folder.writeJson("steps", steps);
      this.#onChange(key, steps.at(-1)?.name ?? "");
    }
    if (sameOrders(this.#ordersOf(folder), orders)) await this.#newOrder(key, gone);
    if (folder.end()) throw over();
    return this.#ordersOf(folder);
  }

  /** Accepts the end of the attempt, once its log is here in full. Reporting it again changes nothing. */
  end(presented: Presented, end: ReportedEnd): void {
    const { key } = presented;
    const folder = this.#claimed(presented);
    if (folder.end()) return;
    if (folder.logSize() < end.log_size) throw new RunnerRefused("taken", "The log is not here in full.");
    folder.writeJson("end", {
      code: end.exit_code,
      phase: end.phase,
      finishedAt: end.finished_at,
      steps: end.steps,
      metrics: end.metrics === null ? null : JSON.stringify(end.metrics),
    });
    this.#onChange(key, "end");
  }

  #ordersOf = (folder: RunnerFolder): Orders => ({ cancel: folder.has("cancel"), force: folder.has("force") });

  async #newOrder(key: string, gone: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(beatMs)]);
    await once(this.#orders, key, { signal }).catch(() => {});
  }

  #hear(key: string, age: number): void {
    this.#heard.set(key, { at: performance.now(), age });
  }

  #known(key: string): RunnerFolder {
    if (!isKey(key)) throw wrong();
    return this.folder(key);
  }

  /** The folder of an attempt whose runner this is. */
  #claimed({ key, secret }: Presented): RunnerFolder {
    const folder = this.#known(key);
    if (!folder.holds("token", hashOf(secret))) throw wrong();
    return folder;
  }

  #running(presented: Presented): RunnerFolder {
    const folder = this.#claimed(presented);
    if (folder.end()) throw over();
    return folder;
  }
}

const wrong = () => new RunnerRefused("wrong", "The code or token of the runner is not valid for this attempt.");
const over = () => new RunnerRefused("over", "This attempt is over, or it was withdrawn.");

const sameOrders = (a: Orders, b: Orders) => a.cancel === b.cancel && a.force === b.force;

/** Returns the phases that a runner has begun, without names that are not known. */
export const begunPhases = (steps: readonly Begun[]) =>
  steps.map(({ name, started_at }) => ({ phase: name as Phase, at: started_at }));
