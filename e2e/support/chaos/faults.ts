/** The faults of the chaos test. Which ones happen, and when, depends on the seed alone. */
import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "@millrace/testing/random.ts";
import type { Program } from "@millrace/testing/servers/kubernetes/kubernetes.ts";
import type { Site } from "./site.ts";

/**
 * Points at which the server kills itself, beside the random moments: each between two steps that must be atomic
 * together.
 */
const points = [
  "",
  "attempt-committed:2",
  "attempt-submitted:2",
  "exit-observed:3",
  "result-committed:2",
  "job-committed:3",
];

/** Programs of Kubernetes that are killed, in this order or more often. Containers outlive them all. */
const programs: readonly Program[] = ["kube-apiserver", "kubelet", "etcd"];

/** The last fault happens when this part of the jobs is done. */
const lastFault = 0.9;

/** What the faults follow, so that a slow machine meets as many of them as a fast one. */
export interface Progress {
  /** The part of all jobs that is done, from 0 to 1. */
  done(): number;
  /** How many jobs run at this moment. */
  running(): number;
}

export class Faults {
  readonly #site: Site;
  readonly #progress: Progress;
  readonly #seed: number;
  readonly #kills: number;
  #isStopped = false;
  /** How many jobs were running at the moment of each fault. */
  readonly met: number[] = [];
  /** How often each program was killed. */
  readonly counts = new Map<string, number>();
  /**
   * Keys of attempts that Slurm had and forgot, because its controller was killed before it had written its state; and
   * of those that got their numbers, which Slurm may end because it finds the other job under that number; and of those
   * that it started again.
   */
  readonly forgotten = new Set<string>();

  constructor(site: Site, progress: Progress, seed: number, kills: number) {
    this.#site = site;
    this.#progress = progress;
    this.#seed = seed;
    this.#kills = kills;
  }

  /** Causes all faults, those of each part one after another, and leaves everything running. */
  async cause(): Promise<void> {
    const rounds = Math.max(1, Math.round(this.#kills / 6));
    await Promise.all([this.#killServer(), this.#killController(rounds), this.#killPrograms(rounds)]);
  }

  /** Ends `cause` early, because the test has failed: nothing goes on that it could wait for. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Returns a function that waits for the moment of the next fault, and moments for `count` faults. */
  #moments(random: Random, count: number): (signal?: AbortSignal) => Promise<void> {
    const moments = Array.from({ length: count }, () => random.next() * lastFault).sort((a, b) => a - b);
    return async (signal) => {
      const at = moments.shift() ?? 0;
      while (this.#progress.done() < at && !signal?.aborted) {
        if (this.#isStopped) throw new Error("the test has failed before");
        await sleep(50);
      }
      if (!signal?.aborted) await sleep(random.next() * 3000, undefined, { signal }).catch(() => {});
    };
  }

  #note(program: string): void {
    this.counts.set(program, (this.counts.get(program) ?? 0) + 1);
    this.met.push(this.#progress.running());
    process.stdout.write(`chaos: ${new Date().toISOString()} ${program} killed, ${this.met.at(-1)} jobs run\n`);
  }

  async #killServer(): Promise<void> {
    const { server } = this.#site;
    const random = new Random(this.#seed + 1);
    const moment = this.#moments(random, this.#kills);
    for (let round = 0; round < this.#kills; round++) {
      // Killed by a fault point or by the test, whichever comes first; the other must not strike after the restart.
      const waiting = new AbortController();
      await Promise.race([moment(waiting.signal), server.ended()]);
      waiting.abort();
      await server.stop("SIGKILL");
      this.#note("server");
      await sleep(random.pick([0, 0, 1000, 8000]));
      const point = random.pick(points);
      // A fault may strike before the server is ready: then it is started again without.
      await server.start({ MILLRACE_FAULT: round === this.#kills - 1 ? "" : point }).catch(() => server.start());
    }
  }

  async #killController(rounds: number): Promise<void> {
    const { slurm } = this.#site;
    const random = new Random(this.#seed + 2);
    const moment = this.#moments(random, rounds);
    for (let round = 0; round < rounds; round++) {
      await moment();
      await slurm.killController();
      const killedAt = Date.now();
      this.#note("slurmctld");
      const had = this.#site.attemptsOnSlurm();
      const claimed = [...had.keys()].filter((key) => this.#site.isClaimed(key));
      await sleep(random.next() * 10_000);
      await slurm.startController();
      await this.#resume();
      await this.#noteForgotten(had);
      await this.#noteLaunchedAgain(new Set(claimed), killedAt);
    }
  }

  /** Notes what Slurm has forgotten, and jobs that got the number of such a job while that one was still on a node. */
  async #noteForgotten(had: ReadonlyMap<string, string>): Promise<void> {
    const known = new Set((await this.#listed("%i")).map(([, key]) => key));
    const forgotten = [...had].filter(([key]) => !known.has(key));
    const numbers = new Set(forgotten.map(([, number]) => number));
    for (const [key] of forgotten) this.forgotten.add(key);
    await sleep(20_000);
    for (const [number, key] of await this.#listed("%i")) if (key && numbers.has(number)) this.forgotten.add(key);
  }

  /**
   * Notes runners that had begun and that Slurm started again, because it had not written that they were started. It
   * ends the first one, and the second one is refused.
   */
  async #noteLaunchedAgain(claimed: ReadonlySet<string>, killedAt: number): Promise<void> {
    for (const [start, key] of await this.#listed("%S"))
      if (key && claimed.has(key) && !(Date.parse(start) <= killedAt)) this.forgotten.add(key);
  }

  /** What Slurm tells of its jobs: a field of each, by its letter, and the key of the attempt if it is one of ours. */
  async #listed(field: "%i" | "%S"): Promise<[string, string?][]> {
    const { slurm } = this.#site;
    const text = await slurm.command("squeue", "--noheader", "--states=all", `--format=${field} millrace:%j`);
    return text.split("\n").map((line) => line.split(" millrace:millrace-") as [string, string?]);
  }

  /**
   * Slurm may drain a node when it finds that a job runs there already which it has launched again. An administrator
   * would resume it.
   */
  async #resume(): Promise<void> {
    const { slurm } = this.#site;
    for (const node of slurm.nodes)
      await slurm.command("scontrol", "update", `NodeName=${node}`, "State=RESUME").catch(() => {});
  }

  async #killPrograms(rounds: number): Promise<void> {
    const { kubernetes } = this.#site;
    const random = new Random(this.#seed + 3);
    const chosen = Array.from({ length: rounds }, () => programs).flat();
    const moment = this.#moments(random, chosen.length);
    for (const program of chosen) {
      await moment();
      await kubernetes.kill(program);
      this.#note(program);
      await sleep(random.next() * 10_000);
      await kubernetes.startProgram(program);
    }
    await kubernetes.untilReady();
  }
}
