/**
 * The cost of isolation: jobs at the strongest level, compared with a bare loop that starts the same sandbox, and with
 * no isolation.
 */
import { availableParallelism } from "node:os";
import { type JobInput, routes } from "@millrace/contract";
import { python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { inFlight } from "./bare.ts";
import { runMany } from "./jobs.ts";
import { compare, inTurns, type Measurement, timed } from "./measure.ts";
import { openSandbox } from "./sandbox.ts";

const slots = availableParallelism();

export async function measureIsolation(): Promise<Measurement[]> {
  const env = { MILLRACE_LOG_LEVEL: "warn" };
  const strong = await TestServer.start({ env });
  const weak = await TestServer.start({ env: { ...env, MILLRACE_ISOLATION: "none" } });
  const sandbox = await openSandbox();
  try {
    const client = await strong.client();
    const weakClient = await weak.client();
    const [cluster] = await client.call(routes.listClusters, { query: {} });
    if (cluster?.isolation !== sandbox.level) throw new Error("the two sides do not use the same sandbox");
    for (const each of [client, weakClient]) await runJob(each, python("print(1)"));
    const rate = (on: typeof client, count: number, input: JobInput) => async () =>
      (count / (await timed(() => runMany(on, count, input)))) * 1000;
    const bare = (count: number, run: () => Promise<void>) => async () =>
      (count / (await timed(() => inFlight(count, slots, run)))) * 1000;
    const shells = await inTurns(
      5,
      rate(client, 200, shell(":")),
      bare(200, () => sandbox.shell(":")),
    );
    const pythons = await inTurns(
      5,
      rate(client, 80, python("print(1)")),
      bare(80, () => sandbox.python("print(1)")),
    );
    const levels = await inTurns(5, rate(weakClient, 200, shell(":")), rate(client, 200, shell(":")));
    const sides = ([ours, other]: readonly [number, number], otherIs: string) => ({
      ours,
      other,
      unit: "jobs/s",
      otherIs,
    });
    return [
      compare(`no-op SHELL jobs at ${sandbox.level}`, ">= 0.7", sides(shells, "bare loop, same sandbox")),
      compare(`PYTHON print(1) jobs at ${sandbox.level}`, ">= 0.7", sides(pythons, "bare loop, same sandbox")),
      compare(`no-op SHELL jobs at none`, ">= 1", sides(levels, `at ${sandbox.level}`)),
    ];
  } finally {
    await sandbox.close();
    await strong.dispose();
    await weak.dispose();
  }
}
