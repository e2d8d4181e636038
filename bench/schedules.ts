/** Schedules that wait: the cost of ten thousand of them, compared with a server without any. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { inTurns, type Measurement } from "./measure.ts";

const count = 10_000;
const seconds = 15;

export async function measureSchedules(): Promise<Measurement[]> {
  const env = { MILLRACE_LOG_LEVEL: "warn" };
  const [full, empty] = await Promise.all([TestServer.start({ env }), TestServer.start({ env })]);
  try {
    await full.stop();
    addSchedules(join(full.dataDir, "millrace.db"));
    await full.start();
    await sleep(5000);
    const [ours, other] = await inTurns(
      3,
      () => share(full),
      () => share(empty),
    );
    return [
      {
        what: `${count.toLocaleString("en")} idle schedules: share of one core`,
        ours: `${ours.toFixed(2)} %`,
        other: `${other.toFixed(2)} % with none`,
        ratio: ours / other,
        bound: "<= 1 % of a core",
        holds: ours <= 1,
      },
    ];
  } finally {
    await Promise.all([full.dispose(), empty.dispose()]);
  }
}

/** Each with its template and a time, none due during the measurement. */
function addSchedules(path: string): void {
  const db = new DatabaseSync(path);
  db.exec("begin");
  db.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})
    insert into pipelines (id, team_id, user_id, name, status, is_template, open_runs, triggered_from, datasets, settings, environment, scopes, created_at, updated_at)
    select 'bench-' || n, 1, 1, 'bench-' || n, 'PENDING', 1, 0, '', '[]', '{}', '', '[]', '2030', '2030' from numbers`);
  db.exec(`insert into schedules (team_id, user_id, name, pipeline_id, cron_expression, timezone, overlap, catch_up, is_paused, next_run, fired, created_at, updated_at)
    select 1, 1, name, id, '0 3 * * *', 'Europe/Berlin', 'skip', 'one', 0, '2099-01-01T02:00:00.000Z', 0, '2030', '2030' from pipelines`);
  db.exec("commit");
  db.close();
}

/** Percentage of one core, over some seconds. */
async function share(server: TestServer): Promise<number> {
  const before = await processorTicks(server);
  await sleep(seconds * 1000);
  return ((await processorTicks(server)) - before) / seconds;
}

/** User and system time in hundredths of a second. */
async function processorTicks({ pid }: TestServer): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /, "").split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
