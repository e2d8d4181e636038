/** Polls `/readyz` all the time, in its own thread, so that the load does not distort the measurement. */
import { parentPort, Worker, workerData } from "node:worker_threads";

export interface Sample {
  /** On the clock of `performance.now()` of the thread that started the probe. */
  readonly from: number;
  readonly to: number;
  /** 0 if there was no answer. */
  readonly status: number;
}

const every = 100;

export class Probe {
  readonly samples: Sample[] = [];
  readonly #worker: Worker;

  constructor(url: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { url, origin: performance.timeOrigin } });
    this.#worker.on("message", (sample: Sample) => this.samples.push(sample));
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

async function probe(url: string, shift: number): Promise<void> {
  for (;;) {
    const from = performance.now() + shift;
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(20_000) }).catch(() => undefined);
    await answer?.text().catch(() => "");
    parentPort?.postMessage({ from, to: performance.now() + shift, status: answer?.status ?? 0 } satisfies Sample);
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

if (parentPort && workerData?.url) {
  const { url, origin } = workerData as { url: string; origin: number };
  await probe(url, performance.timeOrigin - origin);
}
