/**
 * Polls `/readyz` all the time, in its own thread, so that the load does not distort the measurement. Beside each answer
 * it notes how long the server had no processor: that time says something of the machine and nothing of the server.
 */
import { readFileSync } from "node:fs";
import { parentPort, Worker, workerData } from "node:worker_threads";

export interface Sample {
  /** On the clock of `performance.now()` of the thread that started the probe. */
  readonly from: number;
  readonly to: number;
  /** Milliseconds between the two in which the server's main thread wanted a processor and had none. */
  readonly starved: number;
  /** 0 if there was no answer. */
  readonly status: number;
}

interface Probed {
  readonly url: string;
  readonly pid: number | undefined;
}

const every = 100;

export class Probe {
  readonly samples: Sample[] = [];
  readonly #worker: Worker;
  readonly #pid = new Int32Array(new SharedArrayBuffer(4));
  readonly #following: NodeJS.Timeout;

  constructor(server: Probed) {
    const follow = () => Atomics.store(this.#pid, 0, server.pid ?? 0);
    follow();
    this.#following = setInterval(follow, every);
    const workerData = { url: server.url, pid: this.#pid, origin: performance.timeOrigin };
    this.#worker = new Worker(new URL(import.meta.url), { workerData });
    this.#worker.on("message", (sample: Sample) => this.samples.push(sample));
  }

  async stop(): Promise<void> {
    clearInterval(this.#following);
    await this.#worker.terminate();
  }
}

/** Milliseconds for which the process has waited for a processor so far, and which the host took from each processor. */
function lostTime(pid: number): { waited: number; taken: number[] } {
  const waited = Number(read(`/proc/${pid}/schedstat`).split(" ")[1] ?? 0) / 1e6;
  const processors = [...read("/proc/stat").matchAll(/^cpu\d+ (.*)$/gm)];
  // In hundredths of a second.
  return { waited, taken: processors.map(([, times = ""]) => Number(times.split(" ")[7]) * 10) };
}

/** How long the process can have been without a processor since then. */
function starvedSince(pid: number, { waited, taken }: ReturnType<typeof lostTime>): number {
  const now = lostTime(pid);
  return Math.max(0, now.waited - waited) + Math.max(0, ...now.taken.map((time, index) => time - (taken[index] ?? 0)));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

async function probe(url: string, pid: Int32Array, shift: number): Promise<void> {
  for (;;) {
    const subject = Atomics.load(pid, 0);
    const before = lostTime(subject);
    const from = performance.now() + shift;
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(20_000) }).catch(() => undefined);
    await answer?.text().catch(() => "");
    const to = performance.now() + shift;
    const starved = Math.min(to - from, starvedSince(subject, before));
    parentPort?.postMessage({ from, to, starved, status: answer?.status ?? 0 } satisfies Sample);
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

if (parentPort && workerData?.url) {
  const { url, pid, origin } = workerData as { url: string; pid: Int32Array; origin: number };
  await probe(url, pid, performance.timeOrigin - origin);
}
