/** A server with many jobs, inserted directly into its store. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";

/** Starts a server with this many ended jobs: every fourth FAILED, the rest COMPLETE. */
export async function serverWithJobs(count: number): Promise<TestServer> {
  const server = await TestServer.start({ env: { MILLRACE_LOG_LEVEL: "warn" } });
  const client = await server.client();
  const { job } = await runJob(client, shell("echo template", { query_name: "template.sh" }));
  await server.stop();
  const store = new DatabaseSync(join(server.dataDir, "millrace.db"));
  const columns = (store.prepare("select name from pragma_table_info('jobs')").all() as { name: string }[]).map(
    (c) => c.name,
  );
  const values = columns.map((name) =>
    name === "id"
      ? "printf('01800000-%04x-7%03x-8000-%012x', n / 4096, n % 4096, n)"
      : name === "status"
        ? "iif(n % 4 = 0, 'FAILED', 'COMPLETE')"
        : name,
  );
  store.exec(`pragma synchronous = off; begin;
    with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${count})
    insert into jobs (${columns.join(", ")}) select ${values.join(", ")} from counter, jobs where jobs.id = '${job.id}'; commit;
    pragma wal_checkpoint(truncate)`);
  store.close();
  await server.start();
  return server;
}
