/**
 * Small scripts with the dataset library that were run before, at the default settings: one of them and a pipeline of
 * ten, beside `python script.py` with the same interpreter.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { datachainPython, whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { inFlight } from "./bare.ts";
import { compare, inTurns, type Measurement, timed } from "./measure.ts";
import { rebuild } from "./pipelines.ts";

interface Script {
  readonly dataset: string;
  readonly text: string;
}

const count = 10;
const script = (dataset: string, source = "read_values(n=[1, 2, 3])"): Script => ({
  dataset,
  text: `import datachain as dc\ndc.${source}.save('${dataset}')\n`,
});
const numbers = Array.from({ length: count }, (_, index) => index);
/** Scripts that do not need each other. */
const apart = numbers.map((index) => script(`apart_${index}`));
/** Scripts of which each needs the dataset of the one before. */
const chained = numbers.map((index) =>
  script(`chained_${index}`, index === 0 ? undefined : `read_dataset('chained_${index - 1}')`),
);

export async function measureScripts(): Promise<Measurement[]> {
  const why = await whyNoDatachain();
  if (why) throw new Error(why);
  const warm = await measure({}, async (bench) => [
    await bench.again("a small dataset script again, warm start", "<= 0.8", 1),
    await bench.ten(`${count} of them as a chain`, "<= 0.9", chained, 1),
    await bench.ten(`${count} that need no other`, "<= 0.9", apart, 2),
  ]);
  const cold = await measure({ MILLRACE_WARM_MEMORY: "0" }, async (bench) => [
    await bench.again("a small dataset script again, cold start", "<= 1.3", 0),
  ]);
  return [...warm, ...cold];
}

async function measure(
  settings: Readonly<Record<string, string>>,
  run: (bench: ScriptBench) => Promise<Measurement[]>,
): Promise<Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-script-"));
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "warn", ...withLibrary, ...settings } });
  try {
    return await run(new ScriptBench(await server.client(), folder, { url: server.url, token: await server.token() }));
  } finally {
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  }
}

class ScriptBench {
  readonly #client: Client;
  readonly #folder: string;
  readonly #server: { readonly url: string; readonly token: string };

  constructor(client: Client, folder: string, server: { readonly url: string; readonly token: string }) {
    this.#client = client;
    this.#folder = folder;
    this.#server = server;
  }

  /** One script. Neither side runs beside the import for the next job. */
  async again(name: string, wanted: string, waiting: number): Promise<Measurement> {
    const one = script("again");
    const inJob = () => this.#run(one);
    const byHand = () => this.#byHand(one);
    await inJob();
    await this.#untilWaiting(waiting);
    await byHand();
    const [ours, other] = await inTurns(
      7,
      async () => {
        const time = await timed(inJob);
        await this.#untilWaiting(waiting);
        return time;
      },
      () => timed(byHand),
    );
    return compare(name, wanted, { ours, other, unit: "ms", otherIs: "python script.py" });
  }

  /** A pipeline that rebuilds ten datasets, beside a loop over their scripts that runs as many at a time. */
  async ten(name: string, wanted: string, scripts: readonly Script[], lanes: number): Promise<Measurement> {
    const datasets = scripts.map(({ dataset }) => dataset);
    const inLoop = () => {
      const left = scripts.values();
      return inFlight(count, lanes, () => this.#byHand(left.next().value as Script));
    };
    for (const script of scripts) await this.#run(script);
    await inLoop();
    const before = await this.#waiting();
    const [ours, other] = await inTurns(
      3,
      async () => {
        const time = await timed(() => rebuild(this.#client, ...datasets));
        await this.#untilWaiting(before);
        return time;
      },
      () => timed(inLoop),
    );
    return compare(name, wanted, { ours, other, unit: "ms", otherIs: `python script.py, ${lanes} at a time` });
  }

  async #run({ dataset, text }: Script): Promise<void> {
    const { job } = await runJob(this.#client, python(text, { query_name: `${dataset}.py` }));
    if (job.status !== "COMPLETE") throw new Error(job.error_message ?? job.status);
  }

  async #byHand({ dataset, text }: Script): Promise<void> {
    const env = { PATH: process.env["PATH"], HOME: this.#folder, DATACHAIN_NO_ANALYTICS: "1" };
    const file = `${dataset}.py`;
    await writeFile(join(this.#folder, file), text);
    await promisify(execFile)(datachainPython, [file], { cwd: this.#folder, env });
  }

  async #waiting(): Promise<number> {
    const { url, token } = this.#server;
    const response = await fetch(`${url}/metrics`, { headers: { Authorization: `token ${token}` } });
    return Number(/^millrace_waiting_interpreters (\d+)$/m.exec(await response.text())?.[1]);
  }

  /** Waits until at least as many interpreters wait for a job. */
  async #untilWaiting(count: number): Promise<void> {
    for (const deadline = Date.now() + 60_000; (await this.#waiting()) < count; ) {
      if (Date.now() > deadline) throw new Error(`${await this.#waiting()} interpreters wait for a job, not ${count}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
