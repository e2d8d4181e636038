/**
 * Scripts that damage the warehouse of their own team. They harm their team until an admin restores a copy, and nobody
 * else: the server neither hangs nor ends, and a script cannot read anything through it that it could not read itself.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, type Job, routes } from "@millrace/contract";
import { createJob, python, readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { whyNoDatachain, withLibrary, withReachableLibrary } from "@millrace/testing/programs/datachain-install.ts";

const noLibrary = await whyNoDatachain();
const isRoot = process.getuid?.() === 0;

/** A job that is detected as using the library but is fast, because it does not import it. */
const spoiling = (lines: string) => `
if False:
    import datachain
import os, sqlite3
store = os.environ["DATACHAIN_METASTORE_ARG_DB_FILE"]
${lines}
`;

const onStore = (...statements: string[]) =>
  spoiling(`
db = sqlite3.connect(store, isolation_level=None)
db.execute("pragma foreign_keys = off")
${statements.map((statement) => `db.execute(${JSON.stringify(statement)})`).join("\n")}
`);

const endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n";

const inPlace = (line: string) =>
  spoiling(`
for name in os.listdir(os.path.dirname(store)):
    os.remove(os.path.join(os.path.dirname(store), name))
${line}
`);

/** How the warehouse is damaged, and the failure reason of the job that does it. */
const attacks: Record<string, { script: string; says: RegExp }> = {
  "a view that never ends, instead of a table": {
    script: onStore("drop table dataset_version_jobs", `create view dataset_version_jobs as ${endless}`),
    says: /contains a view \(dataset_version_jobs\)/,
  },
  "a trigger that never ends": {
    script: onStore(`create trigger slow after update on jobs begin insert into meta (id) ${endless}; end`),
    says: /contains a trigger \(slow\)/,
  },
  "a virtual table": {
    script: onStore("create virtual table words using fts5(word)"),
    says: /contains a virtual table/,
  },
  "a column that takes for ever to compute": {
    script: onStore(
      "alter table jobs rename to old_jobs",
      "create table jobs (id text, status int, finished_at text, error_message text, metrics text generated always as (hex(zeroblob(400000000))) virtual)",
      `insert into jobs (id, status) values ('x', 4)`,
      "update jobs set id = (select id from old_jobs order by created_at desc limit 1)",
    ),
    says: /cannot be used|could not be read/,
  },
  garbage: { script: inPlace(`open(store, "wb").write(os.urandom(100000))`), says: /not a database|cannot be used/ },
  "a pipe that nobody writes to": { script: inPlace("os.mkfifo(store)"), says: /not a plain file/ },
  "a folder": { script: inPlace("os.mkdir(store)"), says: /not a plain file/ },
  "a link to a file of the machine": { script: inPlace(`os.symlink("/etc/passwd", store)`), says: /not a plain file/ },
  "a link to the server's own store": {
    script: inPlace(`os.symlink(os.path.join(os.path.dirname(store), "../../../millrace.db"), store)`),
    says: /not a plain file/,
  },
  nothing: { script: inPlace(""), says: /is gone|file is missing/ },
  "tables without the columns that matter": {
    script: onStore("drop table datasets_dependencies", "create table datasets_dependencies (id integer)"),
    says: /has no column source_dataset_version_id.*not known to Millrace/,
  },
};

/** Without a sandbox only the user id protects. */
const atUser = ["a view that never ends, instead of a table", "a link to the server's own store", "garbage"];

for (const level of ["bwrap", "uid"] as const) {
  const skip = noLibrary || (level === "uid" && !isRoot && "needs root");
  describe(`a damaged warehouse at ${level}`, { skip, concurrency: 2 }, () => {
    let server: TestServer;
    let token: string;
    let interpreter: Awaited<ReturnType<typeof withReachableLibrary>>;
    before(async () => {
      interpreter = await withReachableLibrary();
      const { PATH } = level === "uid" ? interpreter.env : withLibrary;
      server = await TestServer.start({
        env: { PATH, MILLRACE_ISOLATION: level, MILLRACE_MAX_WORKERS: "4" },
      });
      token = await server.token();
    });
    after(async () => {
      await server.dispose();
      await rm(interpreter.folder, { recursive: true });
    });

    const clientOf = (team: string) => createClient({ url: server.url, token, team });
    const run = async (client: Client, query: string): Promise<Job> =>
      waitForEnd(client, (await createJob(client, python(query))).id);
    const quick = spoiling("pass");
    const good = "import datachain as dc\ndc.read_values(n=[1, 2]).save('good')\n";

    /** Creates a team whose warehouse works and has a copy. */
    async function teamWithCopy(): Promise<{ client: Client; name: string }> {
      const name = `team-${randomUUID().slice(0, 8)}`;
      await clientOf("main").call(routes.createTeam, { body: { name } });
      const client = clientOf(name);
      assert.equal((await run(client, good)).status, "COMPLETE");
      await waitForCopy(client, name);
      return { client, name };
    }

    for (const [what, { script, says }] of Object.entries(attacks)) {
      if (level === "uid" && !atUser.includes(what)) continue;
      it(`${what}: the job fails and says why, and so does the next; a copy restores the warehouse`, async () => {
        const { client, name } = await teamWithCopy();
        const spoilt = await run(client, script);
        assert.equal(spoilt.status, "FAILED");
        assert.match(spoilt.error_message ?? "", says);

        const next = await run(client, quick);
        assert.equal(next.status, "FAILED");
        const told = `${next.error_message}\n${await readLog(client, next.id)}`;
        assert.match(
          told,
          /The team's warehouse (cannot be used|is damaged|is gone|could not be read).*replace the warehouse with its newest daily copy/s,
        );

        await client.call(routes.restoreDatasetCopy, { params: { team_name: name }, body: {} });
        const after = await run(client, quick);
        assert.equal(after.status, "COMPLETE", after.error_message ?? "");
        // Another team is not affected.
        assert.equal((await run(clientOf("main"), "print(1)")).status, "COMPLETE");
      });
    }
  });
}

/** Copies are made every day, the first soon after the first job. */
async function waitForCopy(client: Client, team_name: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; ; ) {
    if ((await client.call(routes.listDatasetCopies, { params: { team_name } })).length > 0) return;
    if (Date.now() > deadline) throw new Error("no copy was made");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
