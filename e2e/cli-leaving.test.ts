/** When people leave, the command line shows what runs as them, asks, and hands it over. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import {
  createClient,
  type Job,
  type Member,
  type NewToken,
  type PipelineSchedule,
  type Token,
} from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const noTerminal =
  /^ *why: The command needs a confirmation, but standard input is not a terminal; nothing was changed$/m;

describe("somebody who leaves", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  let admin: Millrace;
  before(async () => {
    admin = await commandLine();
  });

  /** Creates a user with a dataset, a schedule, a task that fires at once, and credentials that the task uses. */
  async function leaver(name: string): Promise<Millrace> {
    await admin.print("user", "add", name);
    await admin.print("team", "add-member", name);
    const token = await suite.server.token("--user", name);
    const cli = await commandLine({ token });
    const lineage = await openLineage(suite.server, createClient({ url: suite.server.url, token, team: "main" }));
    // Created by the administrator, who also created the others.
    await lineage.make(`of-${name}`, shell("echo made", { query_name: "nightly.sh" }));
    await lineage.close();
    const { name: pipeline } = await admin.json<{ name: string }>("pipeline", "create", `of-${name}`);
    await admin.print("pipeline", "cancel", pipeline);
    await cli.print("schedule", "create", `nightly-${name}`, pipeline, "--cron", "@daily");
    await cli.feed("KEY=hers\n", "credentials", "set", `keys-${name}`, "--own");
    await cli.write("task.sh", "echo done\n");
    await cli.print("job", "run", "task.sh", "--cron", "@daily", "-c", `keys-${name}`, "--no-wait");
    return cli;
  }
  const owner = async (schedule: string) => (await admin.json<PipelineSchedule>("schedule", "show", schedule)).owner;

  test("team add-service-account creates a service account that is listed and can get tokens", async () => {
    assert.equal(
      await admin.print("team", "add-service-account"),
      "Created service account main-service of the team main\n",
    );
    assert.match(await admin.print("team", "members"), /^main-service\teditor\t\t\tservice account$/m);
    assert.match(await admin.print("user", "ls"), /^main-service\t\t\t\tservice account\tmain \(editor\)$/m);
    const token = await admin.json<NewToken>("team", "create-service-token", "ci", "--scopes", "JOB");
    const robot = await commandLine({ token: token.access_token });
    assert.match(await robot.print("user", "show"), /^username\tmain-service$/m);
    assert.deepEqual(
      (await admin.json<Token[]>("team", "service-tokens")).map(({ id }) => id),
      [token.id],
    );
    await admin.print("team", "revoke-service-token", String(token.id));
    await robot.refused(4, "user", "show");
    assert.match(await admin.refused(1, "team", "add-service-account"), /already has a service account, main-service/);
  });

  test("user disable shows what runs as the user, asks, and hands it over with --transfer-to", async () => {
    await leaver("ann");
    const shown = await admin.print("user", "disable", "ann", "--dry-run");
    assert.match(shown, /^ {2}schedule nightly-ann \(team main, next \S+Z\): one run as ann$/m);
    assert.match(shown, /^ {2}task task\.sh \(team main, @daily, next \S+Z\)$/m);
    assert.match(shown, /^Own credentials keys-ann \(team main\)\.$/m);
    assert.match(shown, /will stop, and each will show the reason\. To transfer them: --transfer-to USER\.$/m);
    await admin.print("schedule", "update", "nightly-ann", "--pause");
    assert.match(
      await admin.print("user", "disable", "ann", "--dry-run"),
      /nightly-ann \(team main, at no set time\): /,
    );
    await admin.print("schedule", "update", "nightly-ann", "--resume");
    const refused = await admin.refused(64, "user", "disable", "ann", "--transfer-to", "main-service");
    assert.match(refused, /keys-ann \(team main\): main-service has none, so runs that name them will fail/);
    assert.match(refused, noTerminal);
    const typed = await admin.type(
      [["Continue? [y/N]", "n\n"]],
      "user",
      "disable",
      "ann",
      "--transfer-to",
      "main-service",
    );
    assert.match(typed.stdout, /Nothing was changed/);
    assert.equal((await owner("nightly-ann")).username, "ann");
    await admin.feed("KEY=ours\n", "credentials", "set", "keys-ann");
    assert.match(
      await admin.print("user", "disable", "ann", "--transfer-to", "main-service", "--yes"),
      /^Disabled user ann; their schedules, tasks and pipelines now belong to main-service$/m,
    );
    assert.deepEqual(await owner("nightly-ann"), {
      username: "main-service",
      first_name: "",
      last_name: "",
      service_account: true,
    });
    await admin.print("schedule", "update", "nightly-ann", "--cron=", "--start-time", "2020-01-01T00:00Z");
    const ran = await until("its run", async () => {
      const now = await admin.json<PipelineSchedule>("schedule", "show", "nightly-ann");
      return now.latest_run?.status === "COMPLETED" ? now : undefined;
    });
    const [run] = ran.latest_run?.job_runs ?? [];
    const job = await admin.json<Job>("job", "show", run?.created_job_id ?? "");
    assert.deepEqual([job.created_by, job.home], ["main-service", "ann"]);
  });

  test("user disable without a new owner says what will stop; schedule ls says so, too, until somebody takes it over", async () => {
    await leaver("ben");
    await admin.print("user", "disable", "ben", "--yes");
    assert.match(await admin.print("schedule", "ls"), /nightly-ben\t.*The schedule runs jobs as ben, who is disabled/);
    assert.match(
      await admin.print("schedule", "show", "nightly-ben"),
      /^problem\tThe schedule runs jobs as ben, who is disabled: every run will fail\. Give the schedule another owner\.$/m,
    );
    await admin.print("schedule", "update", "nightly-ben", "--owner", "main-service");
    assert.doesNotMatch(await admin.print("schedule", "show", "nightly-ben"), /^problem/m);
    const [task] = (await admin.json<Job[]>("job", "ls", "--status", "task", "--created-by", "ben")) as [Job];
    assert.match(
      await admin.refused(1, "job", "hand-over", task.id, "main-service"),
      /no credentials with these names: keys-ben/,
    );
    assert.match(
      await admin.print("job", "hand-over", task.id, "main-service", "--force"),
      /creates now run as main-service/,
    );
    assert.equal(await admin.print("user", "enable", "ben"), "Enabled user ben\n");
  });

  test("team remove-member hands over what runs in the team", async () => {
    await leaver("cat");
    assert.match(await admin.refused(64, "team", "remove-member", "cat"), noTerminal);
    const said = await admin.print("team", "remove-member", "cat", "--transfer-to", "admin", "--yes");
    assert.match(said, /cat is no longer in the team main/);
    assert.equal((await owner("nightly-cat")).username, "admin");
    assert.ok(!(await admin.json<Member[]>("team", "members")).some(({ username }) => username === "cat"));
    const refused = await admin.refused(1, "user", "disable", "cat", "--transfer-to", "nobody-here");
    assert.match(refused, /There is no user nobody-here/);
  });

  test("pipeline hand-over hands over a waiting pipeline by its name", async () => {
    await leaver("dot");
    const { name } = await admin.json<{ name: string }>("pipeline", "create", "of-dot");
    assert.match(
      await admin.print("pipeline", "hand-over", name, "main-service"),
      /that have not started will run as main-service/,
    );
  });
});
