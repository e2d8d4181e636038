/** The job contract on a cluster, through the unmodified client: one suite for all kinds of engines. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Client, type ClusterTest, type EngineKindName, type ManagedCluster, routes } from "@millrace/contract";
import { createJob, readJob, readLog, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { makeWheel } from "@millrace/testing/programs/wheels.ts";
import { type FileServer, serveFiles } from "@millrace/testing/servers/file-server.ts";
import { until } from "@millrace/testing/until.ts";
import { assertFollowed, assertStatuses, jobIdOf, logOf, statusesOf } from "./client-output.ts";
import { ClientSuite, type Env } from "./client-suite.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import type { Result } from "./datachain.ts";
import { makeRepository } from "./git-repository.ts";
import { Millrace } from "./millrace.ts";

/** A real cluster, started for the suite. */
interface ContractCluster {
  /** Address of this machine, as the nodes of the cluster reach it. */
  readonly address: string;
  /** Settings of the server that the cluster needs. */
  readonly env?: Env;
  /** Lets nodes reach the server, if they cannot do so by themselves. */
  connect?(port: number): void;
  /** Options and secrets for `millrace cluster add`. */
  readonly options: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  /** A folder on all nodes in which runners may keep virtualenvs; absent if there is none. */
  readonly environments?: string;
  /** A line of shell whose output shows that it runs on the cluster. */
  readonly where: { readonly line: string; readonly output: RegExp };
  /** Makes new jobs wait on the cluster, and lets them start again. */
  hold(cli: Millrace): Promise<unknown>;
  release(cli: Millrace): Promise<unknown>;
  /** Everything that the engine shows of its jobs to those who may look. */
  listings(): Promise<string>;
  /** Names of jobs that the engine still has; empty if there are none. */
  left(): Promise<string>;
  stop(): Promise<void>;
}

interface ContractSubject {
  readonly kind: EngineKindName;
  readonly title: string;
  readonly skip: false | string;
  /** Its jobs take long to start: what depends on the runner alone is left to other engines, but for the long form. */
  readonly isSlow?: true;
  start(): Promise<ContractCluster>;
}

/** The slots are more than one job of the suite needs, and fewer than the cluster has. */
const slots = 4;

/** Writes steadily, with a pause in the middle, so that a test can interrupt the following twice. */
const slowScript = (gate: string) => `
import time, urllib.error, urllib.request
def is_open():
    try:
        return urllib.request.urlopen("${gate}").status == 200
    except urllib.error.HTTPError:
        return False
for i in range(1, 81):
    print(f"line {i} of 80")
    time.sleep(0.04)
    while i == 40 and not is_open():
        time.sleep(0.04)
print("the end", end="")
`;
const slowLog = `${Array.from({ length: 80 }, (_, index) => `line ${index + 1} of 80\n`).join("")}the end`;

export function clusterContract({ kind, title, skip, isSlow, start }: ContractSubject): void {
  const ofRunner = isSlow && process.env["MILLRACE_LONG_TESTS"] !== "1" ? () => {} : test;
  describe(`datachain jobs on ${title}`, { skip }, () => {
    let cluster: ContractCluster;
    let files: FileServer;
    let cli: Millrace;
    const suite = ClientSuite.use(async () => {
      cluster = await start();
      return { MILLRACE_ISOLATION: "none", ...cluster.env };
    });
    const commandLine = Millrace.useWith(suite);
    before(async () => {
      cluster.connect?.(suite.server.port);
      files = await serveFiles(suite.shared, cluster.address);
      cli = await commandLine();
      await cli.print("cluster", "add", kind, ...(await addFlags(cli, kind, cluster)));
    });
    after(async () => {
      await files.stop();
      await cluster.stop();
    });

    /** Runs a script on the cluster and follows it. */
    async function onCluster(name: string, text: string, ...flags: string[]): Promise<Result> {
      const client = await suite.client();
      await client.write(name, text);
      return client.run("job", "run", name, "--cluster", kind, ...flags);
    }
    const create = (query: string, rest: object = {}) =>
      createJob(suite.api, shell(query, { compute_cluster_name: kind, ...rest }));
    const stepsOf = async (result: Result) =>
      (await readJob(suite.api, jobIdOf(result))).steps?.map(({ name }) => name);

    test("an administrator adds the cluster, and its test says that every step works", async () => {
      const { ok, steps } = await cli.json<ClusterTest>("cluster", "test", kind, "--seconds", "90");
      assert.ok(ok, JSON.stringify(steps));
      assert.equal(steps.length, 4);
      const { status, engine, secrets, max_workers } = await cli.json<ManagedCluster>("cluster", "show", kind);
      assert.deepEqual([status, engine, max_workers], ["ACTIVE", kind, slots]);
      assert.deepEqual(secrets, Object.keys(cluster.secrets ?? {}));
      await until("nothing is left of the test", async () => (await cluster.left()) === "");
    });

    test("a script runs on a node, with its states and its log", async () => {
      const result = await onCluster("where.sh", `${cluster.where.line}\necho to stderr >&2`);
      const [where = "", ...rest] = logOf(result.stdout).split("\n");
      assert.match(where, cluster.where.output);
      assert.deepEqual(rest, ["to stderr", ""]);
      assertStatuses(result.stdout, "COMPLETE");
      const { compute_cluster_name, exit_code } = await readJob(suite.api, jobIdOf(result));
      assert.deepEqual([compute_cluster_name, exit_code], [kind, 0]);
    });

    test("requirements, files, environment and credentials reach the job", async () => {
      const index = await makeIndex(suite.shared, files.url);
      const bytes = randomBytes(300_000);
      const client = await suite.client();
      await client.write("data blob.bin", bytes);
      await suite.api.call(routes.setTeamCredentials, {
        body: { name: "bucket", values: { KEY_OF_BUCKET: "key-0815" } },
      });
      await client.write(
        "use.py",
        [
          "import hashlib, os, gadget",
          'print(os.environ["GREETING"], len(os.environ["KEY_OF_BUCKET"]))',
          'print(hashlib.sha256(open("data blob.bin", "rb").read()).hexdigest())',
        ].join("\n"),
      );
      const environment = { GREETING: "hello", ...index };
      const flags = Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
      const names = ["--req", "gadget==1.0", "--credentials-name", "bucket", "--files", "data blob.bin"];
      const result = await client.run("job", "run", "use.py", "--cluster", kind, ...names, ...flags);
      assertStatuses(result.stdout, "COMPLETE");
      const digest = createHash("sha256").update(bytes).digest("hex");
      assert.ok(logOf(result.stdout).endsWith(`gadget is here\nhello 8\n${digest}\n`), result.stdout);
      // Short states may be missed: the client sees what there is when it looks.
      for (const state of ["PROVISIONING", "INIT"] as const)
        assert.ok(statusesOf(result.stdout).includes(state), state);
      // An environment that others may use comes before what is the job's own.
      assert.deepEqual(await stepsOf(result), ["environment", "files", "query"]);
    });

    /** Runs a job with a requirement. Returns the first line of its log, which tells how it got its virtualenv. */
    async function use(): Promise<string> {
      const index = await makeIndex(suite.shared, files.url);
      const environment = Object.entries(index)
        .map(([name, value]) => `${name}=${value}`)
        .join("\n");
      const job = await createJob(suite.api, {
        ...{ query: "import gadget", query_type: "PYTHON", requirements: "gadget==1.0", environment },
        compute_cluster_name: kind,
      });
      const { status } = await waitForEnd(suite.api, job.id);
      const log = await ownLog(suite.api, job.id);
      assert.equal(status, "COMPLETE", log);
      return log.split("\n").find((line) => line.includes("virtualenv")) ?? log;
    }

    ofRunner("a virtualenv is kept for later jobs, and a cluster that keeps them serves one team", async (context) => {
      if (cluster.environments === undefined) return context.skip("the nodes have no folder for it");
      await cli.print("cluster", "set", kind, "--option", `environments=${cluster.environments}`);
      assert.match(await use(), /^Building virtualenv with Python 3/);
      assert.equal(await use(), "Using a virtualenv that an earlier job built");
      await cli.print("team", "add", "neighbours");
      const both = ["--for", "main", "--for", "neighbours"];
      assert.match((await cli.run("cluster", "set", kind, ...both)).stderr, /expected one team/);
      const teams = readdirSync(cluster.environments).filter((name) => name.startsWith("team-"));
      assert.equal(teams.length, 1);
      await cli.print("cluster", "set", kind, "--option", "environments=");
    });

    ofRunner("a virtualenv is packed, and fetched by a node that has none", async () => {
      await cli.print("cluster", "set", kind, "--option", "environments=", "--option", "environments_packed=true");
      assert.match(await use(), /^Building virtualenv with Python 3/);
      assert.equal(await use(), "Using a packed virtualenv that an earlier job built");
      await cli.print("cluster", "set", kind, "--option", "environments_packed=false");
    });

    ofRunner("a script runs in a clone of its repository, at the revision that the job names", async () => {
      await makeRepository(join(suite.shared, "project"));
      const url = `${files.url}/project/.git`;
      const script = 'from tools import edition\nprint("edition:", edition.name)\n';
      const newest = await onCluster("main.py", script, "--repository", url);
      assert.ok(logOf(newest.stdout).endsWith("edition: newest\n"), newest.stdout);
      assert.deepEqual(await stepsOf(newest), ["repository", "query"]);
      const first = await onCluster("main.py", script, "--repository", `${url}@v1`);
      assert.ok(logOf(first.stdout).endsWith("edition: first\n"), first.stdout);
      assertStatuses(first.stdout, "COMPLETE");
      const none = await onCluster("main.py", script, "--repository", `${url}@no-such-revision`);
      assert.equal(none.code, 1);
      const { error_message } = await readJob(suite.api, jobIdOf(none));
      assert.match(error_message ?? "", /^The repository could not be cloned: .*no-such-revision/);
    });

    test("an exit code and a traceback are told", async () => {
      const raising = 'import sys\ndef inner():\n    raise ValueError("no such row")\ninner()\n';
      const result = await onCluster("fail.py", raising);
      assert.equal(result.code, 1);
      const { error_message, error_stack, exit_code } = await readJob(suite.api, jobIdOf(result));
      assert.equal(exit_code, 1);
      assert.match(error_message ?? "", /ValueError: no such row/);
      assert.match(error_stack ?? "", /inner/);
      const quit = await onCluster("quit.sh", "exit 7");
      assert.equal((await readJob(suite.api, jobIdOf(quit))).exit_code, 7);
    });

    test("a job is canceled while it runs, with time to tidy up, and while it waits on the cluster", async () => {
      const client = await suite.client();
      const running = await create("trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.1; done");
      await waitForStatus(suite.api, running.id, ["RUNNING"]);
      assert.equal((await client.run("job", "cancel", running.id)).code, 0);
      assert.equal((await waitForEnd(suite.api, running.id)).status, "CANCELED");
      assert.match(await ownLog(suite.api, running.id), /^up\n(Terminated\n)?tidied\n$/);
      await cluster.hold(cli);
      const waiting = await create("echo ran");
      await waitForStatus(suite.api, waiting.id, ["PROVISIONING"]);
      assert.equal((await client.run("job", "cancel", waiting.id)).code, 0);
      assert.equal((await waitForEnd(suite.api, waiting.id)).status, "CANCELED");
      await cluster.release(cli);
      await until("nothing is left on the cluster", async () => (await cluster.left()) === "");
      assert.doesNotMatch(await readLog(suite.api, waiting.id), /^ran$/m);
    });

    test("a job that does not start in time fails with the reason, and never starts", async () => {
      await cli.print("cluster", "set", kind, "--option", "start_seconds=2");
      await cluster.hold(cli);
      const { id } = await create("echo ran");
      const { status, error_message } = await waitForEnd(suite.api, id);
      assert.equal(status, "FAILED");
      // Some engines say only after a while why a job waits.
      const why = `(${title}.*: .*|The cluster does not say why\\.)`;
      assert.match(error_message ?? "", new RegExp(`did not start on its cluster within 2 seconds .*\\)\\. ${why}$`));
      await cluster.release(cli);
      await until("nothing is left on the cluster", async () => (await cluster.left()) === "");
      assert.doesNotMatch(await readLog(suite.api, id), /^ran$/m);
      await cli.print("cluster", "set", kind, "--option", "start_seconds=0");
    });

    ofRunner("a time limit ends a job with the reason", async () => {
      const limit = '# /// script\n# [tool.millrace]\n# timeout = "2s"\n# ///\n';
      const result = await onCluster("long.py", `${limit}import time\nprint("up", flush=True)\ntime.sleep(60)\n`);
      assert.equal(result.code, 1);
      const { error_message } = await readJob(suite.api, jobIdOf(result));
      assert.match(error_message ?? "", /ran longer than its limit of 2 seconds/);
    });

    test("a job goes on while the server is away, and its log is whole", async () => {
      const lines = 30;
      const job = await create(`for i in $(seq ${lines}); do echo "line $i"; sleep 0.2; done`);
      await waitForStatus(suite.api, job.id, ["RUNNING"]);
      await suite.server.restart();
      assert.equal((await waitForEnd(suite.api, job.id)).status, "COMPLETE");
      const expected = [...Array(lines).keys()].map((index) => `line ${index + 1}\n`).join("");
      assert.equal(await ownLog(suite.api, job.id), expected);
    });

    ofRunner("with a socket that is cut twice, a follower sees every line and every status once", async () => {
      const proxy = await CuttingProxy.start(suite.server.port);
      try {
        const client = await suite.client({ url: proxy.url });
        await client.write("slow.py", slowScript(`${files.url}/gate`));
        const run = client.start("job", "run", "slow.py", "--cluster", kind);
        await run.seen(/^line 10 of/m);
        assert.ok(proxy.cut("reset") > 0);
        await run.seen(/^line 40 of/m);
        await suite.gate("gate").open();
        assert.ok(proxy.cut("end") > 0);
        const result = await run.ended();
        assertFollowed({ ...result, stdout: withoutWaits(result.stdout) }, "COMPLETE", slowLog);
        assert.equal(result.stdout.match(/WebSocket closed, reconnecting/g)?.length, 2);
      } finally {
        await proxy.stop();
      }
    });

    test("no secret is in the listings of the engine, or in a process list", async () => {
      const secret = `secret-${randomBytes(8).toString("hex")}`;
      const job = await create("echo up; sleep 600", { environment: `PASSWORD=${secret}` });
      await until("the job is up", async () => (await ownLog(suite.api, job.id)) === "up\n", 60);
      const shown = [await cluster.listings(), ...commandLines()].join("\n");
      await suite.api.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
      await waitForEnd(suite.api, job.id);
      assert.ok(shown.includes(job.id), "the job is in the listings");
      for (const hidden of [secret, "MILLRACE_TOKEN=", ...Object.values(cluster.secrets ?? {})])
        assert.ok(!shown.includes(hidden), hidden);
    });

    ofRunner("a job that uses datasets is refused with the reason", async () => {
      const result = await onCluster("chain.py", 'import datachain as dc\ndc.read_values(a=[1]).save("x")\n');
      assert.equal(result.code, 1);
      assert.match(result.stderr, /the datasets are on the server's own machine/);
    });
  });
}

/** Writes each secret to a file, and returns the flags of `millrace cluster add`. */
async function addFlags(cli: Millrace, kind: string, { options, secrets = {} }: ContractCluster): Promise<string[]> {
  const flags = ["--engine", kind, "--max-workers", String(slots), "--for", "main"];
  for (const [name, value] of Object.entries(options)) flags.push("--option", `${name}=${value}`);
  for (const [name, value] of Object.entries(secrets))
    flags.push("--secret", `${name}=@${await cli.write(`secret-${name}`, value)}`);
  return flags;
}

/** Makes a package index with the package `gadget`, and returns the variables of a job that uses it. */
async function makeIndex(folder: string, url: string): Promise<Record<string, string>> {
  const place = join(folder, "simple/gadget");
  await mkdir(place, { recursive: true });
  const { name } = await makeWheel(place, "gadget", "1.0", "gadget is here");
  await writeFile(join(place, "index.html"), `<a href="${name}">${name}</a>`);
  return { PIP_INDEX_URL: `${url}/simple/`, PIP_TRUSTED_HOST: new URL(url).hostname };
}

/** Command lines of all processes, as any user of the machine sees them. */
const commandLines = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(join("/proc", pid, "cmdline"), "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    });

/** A log without the lines in which the server says what the job waits for on its cluster. */
const withoutWaits = (log: string) => log.replaceAll(/^\[millrace\] The job waits on its cluster\..*\n/gm, "");
const ownLog = async (api: Client, id: string) => withoutWaits(await readLog(api, id));
