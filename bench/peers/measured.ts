/** Measures one product from its start to its end. A step that fails or takes too long becomes a cell of the table. */
import { setTimeout as sleep } from "node:timers/promises";
import { median, timed } from "../measure.ts";
import type { Answer, Peer, Progress, Work } from "./peer.ts";
import { Stage } from "./stage.ts";

export interface Amounts {
  readonly jobs: number;
  readonly chain: number;
  readonly logBytes: number;
  /** Starts of the product, and most rounds of every other step. */
  readonly rounds: number;
  /** Seconds without a job before the memory is measured. */
  readonly idle: number;
  /** Seconds until a step is given up. Preparations have twice as long. */
  readonly limit: number;
}

export const steps = ["ready", "idle", "one", "chain", "log", "many"] as const;
type Step = (typeof steps)[number];
export type Cells = Partial<Record<Step, string>>;

/** Seconds until an installation is given up. Some build for a long time. */
const longestInstallation = 3600;
/** A step that has taken this many seconds is not repeated. */
const enough = 15;

export async function measurePeer(peer: Peer, amounts: Amounts): Promise<Cells> {
  const cells: Cells = {};
  try {
    await within(longestInstallation, peer.install());
  } catch (error) {
    return { ready: `not available: ${reasonOf(error)}` };
  }
  let session = await Session.open(peer, amounts).catch(reasonOf);
  for (const step of steps) {
    if (typeof session === "string") {
      cells[step] = `failed: ${session}`;
      break;
    }
    const lacking = peer.lacks?.[step];
    if (lacking !== undefined) {
      cells[step] = lacking;
      continue;
    }
    say(peer, step);
    const { text, isBroken } = await session.measure(step);
    cells[step] = text;
    say(peer, step, text);
    if (!isBroken || step === steps.at(-1)) continue;
    // What is left of the step would disturb the next one: begin again with nothing.
    await session.close();
    session = await Session.open(peer, amounts).catch(reasonOf);
  }
  if (typeof session !== "string") await session.close();
  // What was interrupted is no result. The process ends as soon as the product has.
  return isOver ? new Promise(() => {}) : cells;
}

const say = ({ name }: Peer, step: string, result = "...") => process.stderr.write(`${name}, ${step}: ${result}\n`);

class GivenUp extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super(`took more than ${seconds} s`);
    this.seconds = seconds;
  }
}

async function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  const clock = new AbortController();
  const late = sleep(seconds * 1000, undefined, { signal: clock.signal }).then(() => {
    throw new GivenUp(seconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clock.abort();
    late.catch(() => {});
  }
}

const reasonOf = (error: unknown) => (error as Error).message.trim().split("\n").at(-1)?.slice(0, 200) ?? "unknown";

interface Outcome {
  readonly text: string;
  readonly isBroken?: boolean;
}

/** Ends the product that is being measured, for a run that is interrupted. None is started afterwards. */
export async function closeSession(): Promise<void> {
  isOver = true;
  await current?.close();
}
let isOver = false;
let current: Session | undefined;

/** A product that runs with a fresh folder, and a client of it. */
class Session {
  readonly #peer: Peer;
  readonly #amounts: Amounts;
  readonly #stage: Stage;
  #work: Work | undefined;

  static async open(peer: Peer, amounts: Amounts): Promise<Session> {
    if (isOver) throw new Error("interrupted");
    const session = new Session(peer, amounts, await Stage.open());
    current = session;
    try {
      say(peer, "prepare");
      await within(2 * amounts.limit, peer.prepare(session.#stage));
      await session.#start();
      await session.#warmUp();
      return session;
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n${await session.#stage.lastOutputs()}\n`);
      await session.close();
      throw error;
    }
  }

  private constructor(peer: Peer, amounts: Amounts, stage: Stage) {
    this.#peer = peer;
    this.#amounts = amounts;
    this.#stage = stage;
  }

  async measure(step: Step): Promise<Outcome> {
    const { rounds, idle, jobs, limit } = this.#amounts;
    let finished = -1;
    try {
      if (step === "ready") return await this.#ready(rounds);
      if (step === "idle") return await this.#idle(idle);
      const order = this.#orderOf(step, (now) => (finished = now));
      return await within(limit, this.#repeat(order, step === "log"));
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n${await this.#stage.lastOutputs()}\n`);
      if (!(error instanceof GivenUp)) return { text: `failed: ${reasonOf(error)}`, isBroken: true };
      const text = finished < 0 ? `> ${error.seconds} s` : `${finished} of ${jobs} in ${limit} s`;
      return { text, isBroken: true };
    }
  }

  #orderOf(step: Step, progress: Progress): () => Promise<Answer> {
    const { jobs, chain, logBytes } = this.#amounts;
    const work = this.#work as Work;
    if (step === "one") return () => work.one();
    if (step === "many") return () => work.many(jobs, progress);
    return step === "chain" ? () => work.chain(chain) : () => work.log(logBytes);
  }

  async #repeat(order: () => Promise<Answer>, isLog: boolean): Promise<Outcome> {
    const { rounds, logBytes } = this.#amounts;
    const answers: Answer[] = [];
    const begin = performance.now();
    const most = isLog ? rounds : 2 * rounds - 1;
    while (answers.length < most && performance.now() - begin < enough * 1000) answers.push(await order());
    const kept = Math.min(...answers.map((answer) => answer.kept ?? 0));
    const missing = isLog && kept < logBytes ? `, kept ${(kept / 1e6).toFixed(0)} MB` : "";
    return { text: shown(median(answers.map(({ seconds }) => seconds))) + missing };
  }

  async #ready(rounds: number): Promise<Outcome> {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await this.#stop();
      times.push(await this.#start());
    }
    await this.#warmUp();
    return { text: shown(median(times)) };
  }

  async #idle(seconds: number): Promise<Outcome> {
    await sleep(seconds * 1000);
    return { text: `${(await this.#stage.memory()).toFixed(0)} MB` };
  }

  /** Seconds until it is ready. */
  async #start(): Promise<number> {
    return (
      (await within(
        2 * this.#amounts.limit,
        timed(() => this.#peer.start(this.#stage)),
      )) / 1000
    );
  }

  async #warmUp(): Promise<void> {
    this.#work = await within(2 * this.#amounts.limit, this.#peer.connect(this.#stage));
    for (let job = 0; job < 2; job++) await within(2 * this.#amounts.limit, this.#work.one());
  }

  async #stop(): Promise<void> {
    this.#stage.endClients();
    await this.#stage.stop();
    await this.#peer.stop?.();
  }

  async close(): Promise<void> {
    await this.#stop().catch((error: Error) => process.stderr.write(`${error.message}\n`));
    await this.#peer.remove?.();
    await this.#stage.close();
    current = undefined;
  }
}

/** Two digits: more would promise more than the machine gives. */
function shown(seconds: number): string {
  const [value, unit] = seconds < 1 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${Number(value.toPrecision(2))} ${unit}`;
}
