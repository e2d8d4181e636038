/**
 * The overhead of jobs that use the dataset library, beyond the library's own time: the same script, detected as using
 * it or not.
 */
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { inTurns, limit, type Measurement, timed } from "./measure.ts";

const rounds = 25;

export async function measureLibrary(): Promise<Measurement[]> {
  const why = await whyNoDatachain();
  if (why) throw new Error(why);
  const server = await TestServer.start({
    env: { ...withLibrary, MILLRACE_LOG_LEVEL: "warn", MILLRACE_STORE_COPIES: "0" },
  });
  try {
    const client = await server.client();
    // Creates the warehouse once, which is the library's own work.
    await runJob(client, python("import datachain as dc\ndc.read_values(n=[1]).save('one')\n"));
    const run = (script: string) => async () => {
      const { job } = await runJob(client, python(script));
      if (job.status !== "COMPLETE") throw new Error(job.error_message ?? job.status);
    };
    const seen = run("if False:\n    import datachain\nprint(1)\n");
    const unseen = run("print(1)\n");
    const [ours, other] = await inTurns(
      rounds,
      () => timed(seen),
      () => timed(unseen),
    );
    return [limit("what the dataset library costs a job beyond its own time", ours - other, 100, "ms")];
  } finally {
    await server.dispose();
  }
}
