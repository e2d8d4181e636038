/** `millrace credentials`: sets of variables, whose values come from files, pipes and prompts and are never shown. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { before, describe, test } from "node:test";
import { type Credentials, routes } from "@millrace/contract";
import { readJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { millrace } from "@millrace/testing/millrace/server.ts";
import { repository } from "@millrace/testing/repository.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace credentials", () => {
  // One of the tests runs this command line inside a job.
  const suite = ClientSuite.use({ MILLRACE_JOB_PATHS: repository });
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  before(async () => {
    cli = await commandLine();
  });

  const list = () => cli.json<Credentials[]>("credentials", "ls");

  /** Runs a command with this on standard input. */
  const feed = async (input: string, command: string, args: readonly string[]) => {
    const child = spawn(command, args, { cwd: cli.path("work"), env: cli.env, stdio: ["pipe", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (said += bytes.toString()));
    child.stdin.end(input);
    const [code] = (await once(child, "close")) as [number];
    return { code, said };
  };

  test("set reads NAME=VALUE lines from a file; the job that names the set gets them, masked in its log", async () => {
    const file = await cli.write("aws.env", "AWS_ID=id-value-1\nAWS_SECRET='value two'\n");
    assert.equal(
      await cli.print("credentials", "set", "aws", "--file", file),
      "The credentials aws contain AWS_ID, AWS_SECRET\n",
    );
    const job = await cli.write("job.sh", 'echo "$AWS_ID $AWS_SECRET" | rev; echo "$AWS_ID $AWS_SECRET"');
    const { code, stdout, stderr } = await cli.run("job", "run", job, "-c", "aws");
    assert.deepEqual([code, stdout], [0, `owt eulav 1-eulav-di\n${"*".repeat(10)} ${"*".repeat(9)}\n`], stderr);
  });

  test("set reads standard input if that is not a terminal", async () => {
    const { code, said } = await feed("PIPED=from-a-pipe\n", millrace, ["credentials", "set", "piped", "--own"]);
    assert.deepEqual([code, said], [0, "The credentials piped contain PIPED\n"]);
    const own = (await list()).find(({ name }) => name === "piped");
    assert.deepEqual([own?.owner, own?.variables], ["user", ["PIPED"]]);
  });

  test("set --prompt asks on the terminal without echo", async () => {
    const command = `${millrace} credentials set typed --prompt FIRST SECOND`;
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      cwd: cli.path("work"),
      env: cli.env,
      stdio: "pipe",
    });
    let said = "";
    child.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    await until("the first question", () => said.includes("FIRST: "));
    child.stdin.write("typed-value-1\r");
    await until("the second question", () => said.includes("SECOND: "));
    child.stdin.write("typed-value-2\r");
    assert.deepEqual(await once(child, "exit"), [0, null], said);
    await until("the result", () => said.includes("The credentials typed contain FIRST, SECOND"));
    assert.doesNotMatch(said, /typed-value/);
    const { id } = await suite.api.call(routes.createJob, {
      body: shell("echo $FIRST $SECOND | rev", { credentials_name: "typed" }),
    });
    await waitForEnd(suite.api, id);
    assert.equal(await cli.print("job", "logs", id, "--no-follow"), "2-eulav-depyt 1-eulav-depyt\n");
  });

  test("set without values, with both kinds, or with invalid lines changes nothing and says why", async () => {
    const both = await cli.refused(64, "credentials", "set", "x", "--file", "aws.env", "--prompt", "A");
    assert.match(both, /--file and --prompt cannot be combined/);
    assert.match(await cli.refused(64, "credentials", "set", "x", "--prompt", "A"), /--prompt needs a terminal/);
    assert.match(await cli.refused(64, "credentials", "set", "x", "--file", "missing.env"), /Cannot read missing\.env/);
    const lost = await feed("just-a-secret-without-a-name\n", millrace, ["credentials", "set", "x"]);
    assert.equal(lost.code, 1);
    assert.match(lost.said, /NAME=VALUE in line 1/);
    assert.doesNotMatch(lost.said, /just-a-secret/);
    assert.ok(!(await list()).some(({ name }) => name === "x"));
  });

  test("ls shows names and variables, to people and to programs, and never a value", async () => {
    const rows = (await cli.print("credentials", "ls"))
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t").slice(0, 4));
    assert.deepEqual(rows[0], ["aws", "team", "no", "AWS_ID, AWS_SECRET"]);
    assert.doesNotMatch(await cli.print("credentials", "ls", "--json"), /value/);
  });

  test("set --plain marks variables as not secret: ls shows their values, and logs do not mask them", async () => {
    const file = await cli.write("region.env", "REGION=eu-central-1\nKEY=key-value-1\n");
    const said = await cli.print("credentials", "set", "region", "--file", file, "--plain", "REGION");
    assert.equal(said, "The credentials region contain KEY, REGION=eu-central-1\n");
    assert.match(await cli.print("credentials", "ls"), /^region\tteam\tno\tKEY, REGION=eu-central-1\t/m);
    const job = await cli.write("region.sh", 'echo "$REGION $KEY"');
    assert.equal(await cli.print("job", "run", job, "-c", "region"), `eu-central-1 ${"*".repeat(11)}\n`);
    await cli.print("credentials", "rm", "region", "--yes");
  });

  test("default shows, sets and removes the credentials of jobs that name none", async () => {
    assert.match(await cli.refused(1, "credentials", "default"), /The team has no default credentials/);
    await cli.print("credentials", "default", "aws");
    assert.equal(await cli.print("credentials", "default"), "aws\n");
    const job = await cli.write("plain.sh", ":");
    const id = (await cli.print("job", "run", job, "--no-wait")).trim();
    assert.equal((await readJob(suite.api, id)).credentials_name, "aws");
    const none = (await cli.print("job", "run", job, "--no-wait", "-c", "")).trim();
    assert.equal((await readJob(suite.api, none)).credentials_name, null);
    await cli.print("credentials", "default", "--none");
    await cli.refused(1, "credentials", "default");
    assert.match(await cli.refused(64, "credentials", "default", "aws", "--none"), /cannot be combined/);
  });

  test("rm deletes a set of the team, or with --own one of the user", async () => {
    assert.match(await cli.print("credentials", "rm", "piped", "--own", "--yes"), /piped are deleted/);
    assert.match(await cli.refused(1, "credentials", "rm", "piped", "--own"), /You have no credentials named piped/);
    assert.match(await cli.print("credentials", "rm", "typed", "--yes"), /typed of the team main are deleted/);
    assert.deepEqual(
      (await list()).map(({ name }) => name),
      ["aws"],
    );
  });

  test("inside a job, commands use the job's own token and server without any settings", async () => {
    const script = `unset DATACHAIN_STUDIO_URL DATACHAIN_STUDIO_TOKEN DATACHAIN_STUDIO_TEAM
${millrace} job ls --limit 1 --json && ${millrace} job run child.sh --no-follow`;
    await cli.write("parent.sh", script);
    await cli.write("child.sh", ":");
    const { code, stdout, stderr } = await cli.run("job", "run", "parent.sh", "--files", "child.sh");
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /Job \S+ created: /);
  });
});
