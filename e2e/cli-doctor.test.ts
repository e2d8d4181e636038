/** `millrace doctor`: problems, and the effective configuration. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

interface Report {
  readonly findings: { level: "ok" | "warn" | "error"; topic: string; message: string; next?: string }[];
  readonly configuration: { name: string; value: string; source: string; env: string; flag: string | null }[];
  readonly settings: { name: string; value: string; source: string }[];
}

/** Nested folders, one of them writable for jobs: a sandbox that mounts both could be misled. */
const cannotBeHad = { MILLRACE_ISOLATION: "bwrap", MILLRACE_JOB_PATHS: "/srv:rw,/srv/inner:ro" };

describe("millrace doctor", { concurrency: 2 }, () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);

  const levels = ({ findings }: Report) => Object.fromEntries(findings.map(({ topic, level }) => [topic, level]));

  test("a working setup ends with 0, also beside a running server, and names the user and the teams", async () => {
    const cli = await commandLine({ env: { MILLRACE_DATA_DIR: suite.server.dataDir } });
    const report = await cli.json<Report>("doctor");
    const { store, server, "data folder": folder, "sign-in": signIn } = levels(report);
    assert.deepEqual([store, server, folder, signIn], ["ok", "ok", "ok", "ok"]);
    assert.equal(report.findings.find(({ topic }) => topic === "sign-in")?.message, "admin, teams: main (admin)");
  });

  test("in a pipe it prints findings, the whole configuration, and the client's settings, separated by tabs", async () => {
    const cli = await commandLine({ env: { MILLRACE_DATA_DIR: suite.server.dataDir, MILLRACE_MAX_WORKERS: "7" } });
    const { code, stdout } = await cli.run("doctor", "--port", "9000");
    assert.equal(code, 0, stdout);
    const [findings = "", configuration = "", settings = ""] = stdout.split("\n\n");
    assert.match(findings, /^ok\tstore\tembedded SQLite\t$/m);
    const rows = configuration.split("\n").map((line) => line.split("\t"));
    const row = (env: string) => rows.find((fields) => fields[4] === env)?.slice(1, 4);
    assert.deepEqual(row("MILLRACE_PORT"), ["9000", "flag", "port"]);
    assert.deepEqual(row("MILLRACE_MAX_WORKERS"), ["7", "environment", ""]);
    assert.deepEqual(row("MILLRACE_HOST"), ["127.0.0.1", "default", "host"]);
    assert.ok(settings.startsWith(`url\t${suite.server.url}\tDATACHAIN_STUDIO_URL\ntoken\tisat_`), settings);
    assert.ok(!stdout.includes(suite.token), "tokens are not shown in full");
  });

  test("an unreachable database ends with 1, and its password is not shown", async () => {
    const cli = await commandLine({
      env: { MILLRACE_DATABASE_URL: "postgres://me:pass-of-the-database@127.0.0.1:1/none" },
    });
    const { code, stdout, stderr } = await cli.run("doctor", "--json");
    const report = JSON.parse(stdout) as Report;
    assert.deepEqual([code, levels(report)["store"]], [1, "error"]);
    const finding = report.findings.find(({ topic }) => topic === "store");
    assert.match(`${finding?.message}: ${finding?.next}`, /ECONNREFUSED 127\.0\.0\.1:1: .*--database-url/);
    assert.equal(report.configuration.find(({ name }) => name === "databaseUrl")?.value, "(set)");
    assert.doesNotMatch(stdout + stderr, /pass-of-the-database/);
  });

  test("a data folder that is not writable ends with 1, and so does an unavailable isolation level", async () => {
    const cli = await commandLine({ env: cannotBeHad });
    const { code, stdout } = await cli.run("doctor", "--data-dir", "/dev/null/store", "--json");
    const { "data folder": folder, isolation } = levels(JSON.parse(stdout) as Report);
    assert.deepEqual([code, folder, isolation], [1, "error", "error"]);
  });

  test("a refused token and a team of others end with 1", async () => {
    const good = { MILLRACE_DATA_DIR: suite.server.dataDir };
    const strange = await (await commandLine({ token: "isat_unknown", env: good })).run("doctor", "--json");
    assert.deepEqual([strange.code, levels(JSON.parse(strange.stdout) as Report)["sign-in"]], [1, "error"]);
    const elsewhere = await (await commandLine({ team: "others", env: good })).run("doctor", "--json");
    assert.deepEqual([elsewhere.code, levels(JSON.parse(elsewhere.stdout) as Report)["team"]], [1, "error"]);
  });

  test("a missing server and a missing sign-in are warnings, with the command to type", async () => {
    const cli = await commandLine({ url: "http://127.0.0.1:1" });
    const { code, stdout } = await cli.run("doctor");
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^warn\tserver\tNo answer from the server at http:\/\/127\.0\.0\.1:1\tmillrace serve$/m);
  });

  test("an invalid setting is refused by its name", async () => {
    const cli = await commandLine({ env: { MILLRACE_DATABASE_URL: "mysql://me:pass-of-the-database@localhost/" } });
    const said = await cli.refused(64, "doctor");
    assert.match(said, /\n {2}why: MILLRACE_DATABASE_URL: expected a postgres:\/\/ URL/);
    assert.doesNotMatch(said, /pass-of-the-database/);
  });
});
