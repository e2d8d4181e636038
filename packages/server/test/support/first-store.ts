/** A store as the first version of the program left it, with data; and rows of any version, without types. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import type { Db } from "../../src/store/drivers/store.ts";
import { migrate } from "../../src/store/migrations/migrations.ts";
import { openStore } from "../../src/store/opening/open-store.ts";

export const time = "2025-01-01T00:00:00.000Z";
export const ids = {
  large: "01941f29-7c00-7000-8000-000000000000",
  ended: "01941f29-7c00-7000-8000-000000000001",
  waiting: "01941f29-7c00-7000-8000-000000000002",
  task: "01941f29-7c00-7000-8000-000000000003",
};

export const largeQuery = "q".repeat(3_000_000);

/** The tick that the task of the store waits for. */
export const nextRun = `${new Date().getUTCFullYear() + 1}-01-01T00:00:00.000Z`;

/** Creates the tables and rows as the program of that version left them. */
export async function makeFirst(dataDir: string, databaseUrl: string): Promise<void> {
  await mkdir(join(dataDir, "jobs", `${ids.ended}.1`), { recursive: true });
  await writeFile(join(dataDir, "jobs", `${ids.ended}.1`, "log"), "as it was\n");
  const blob = "00000000-0000-4000-8000-000000000007";
  await mkdir(join(dataDir, "files", "00"), { recursive: true });
  await writeFile(join(dataDir, "files", "00", blob), "f");
  const store = await openStore(storeIn(dataDir, databaseUrl), (db, dialect) => migrate(db, dialect, 1));
  await store.write(async (db) => {
    const insert = inserter(db);
    await insert("users", { username: "admin", first_name: "", last_name: "", created_at: time });
    await insert("users", { username: "somebody", first_name: "", last_name: "", created_at: time });
    await insert("teams", { name: "main", created_at: time });
    for (const user_id of [1, 2]) await insert("memberships", { team_id: 1, user_id, role: "admin" });
    const cluster = {
      name: "local",
      engine: "local",
      isolation: "none",
      max_workers: 2,
      is_active: 1,
      is_default: 1,
    };
    await insert("clusters", cluster);
    const file = { team_id: 1, user_id: 1, filename: "f", size: 1, sha256: "", blob, created_at: time };
    await insert("files", { id: 7, ...file, attached_at: time });
    const queue = { cluster_id: 1, priority: 5, slots: 1, passed_over: 0 };
    await insert(
      "jobs",
      job(ids.ended, "FAILED", "echo 'ended' # ü\n", { attempt: 1, exit_code: 3, environment: "A=1" }),
    );
    await insert("jobs", job(ids.large, "COMPLETE", largeQuery));
    await insert("jobs", job(ids.waiting, "QUEUED", "echo ran"));
    await insert("queue", { job_id: ids.waiting, ...queue });
    await insert("jobs", job(ids.task, "TASK", "echo tick"));
    await insert("tasks", { job_id: ids.task, next_run: nextRun, fired: 0 });
  });
  if (databaseUrl) await store.write((db) => countOn(db));
  await store.close();
}

export const inserter = (db: Db) => (table: string, row: object) =>
  db
    .insertInto(table as "users")
    .values(row as never)
    .execute();

/** Advances PostgreSQL's sequence, which ignores explicitly given ids. */
const countOn = (db: Db) =>
  db.selectNoFrom((eb) => eb.fn("setval", [eb.val("files_id_seq"), eb.val(7)]).as("next")).execute();

export const job = (id: string, status: string, query: string, rest: object = {}) => ({
  id,
  team_id: 1,
  user_id: 1,
  cluster_id: 1,
  name: "old.sh",
  status,
  attempt: 0,
  spec: JSON.stringify({
    ...{ id, name: "old.sh", created_at: time, query, query_type: "SHELL", workers: 1, python_version: null },
    ...{ requirements: null, repository: null, files: [], priority: 5, compute_cluster_id: 1, credentials_name: null },
    ...{ start_after: null, cron_expression: status === "TASK" ? "0 0 1 1 *" : null, reset: false, params: {} },
    ...{ parent_job_id: null, rerun_from_job_id: null, run_group_id: id },
  }),
  environment: "",
  metrics: "{}",
  created_at: time,
  finished_at: status === "FAILED" ? new Date().toISOString() : null,
  ...rest,
});
