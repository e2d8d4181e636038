/**
 * A job whose script is in its repository: it runs the file that the branch has at the start, and nothing outside the
 * repository.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type Client, type JobInput, routes } from "@millrace/contract";
import { createJob, readJob, readLog, runJob, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { originalJob, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";
import { trigger, waitForPipelineEnd } from "../support/pipelines.ts";

const run = promisify(execFile);

describe("a script in a repository", () => {
  let server: InProcessServer;
  let client: Client;
  let folder: string;
  let place: string;
  let repository: string;
  const git = (...words: string[]) =>
    run("git", ["-C", place, "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", ...words]);
  const commit = async (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(place, name)), { recursive: true });
      await writeFile(join(place, name), text);
    }
    await git("add", "-A");
    await git("commit", "-qm", "a change");
    // Jobs may have their own users.
    await run("chmod", ["-R", "a+rX", folder]);
    return (await git("rev-parse", "--short", "HEAD")).stdout.trim();
  };
  const input = (script: string, rest: Partial<JobInput> = {}): JobInput => ({
    query_type: "SHELL",
    repository,
    script,
    ...rest,
  });
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-scripts-"));
    place = join(folder, "etl.git");
    await run("git", ["init", "-q", "-b", "main", place]);
    server = await startInProcess({ MILLRACE_JOB_PATHS: folder, MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
    repository = `file://${place}@main`;
    await commit({ "etl/report.sh": "echo one $(cat data.txt)\n", "data.txt": "of the repository\n" });
  });
  after(async () => {
    await server.dispose();
    await rm(folder, { recursive: true });
  });

  it("is read at each start: the branch decides what runs, also for tasks and pipelines", async () => {
    const first = await runJob(client, input("etl/report.sh"));
    assert.equal(first.job.status, "COMPLETE", first.log);
    assert.match(first.log, /^one of the repository$/m);
    assert.deepEqual(
      [first.job.script, first.job.query, first.job.name],
      ["etl/report.sh", "", "report.sh"],
      "the job says where its script lies",
    );
    const { id } = await originalJob(client, input("etl/report.sh"));
    await recordMade(server.store, id, "report");
    const commitId = await commit({ "etl/report.sh": "echo two\n" });
    const { name } = await trigger(client, ["report"]);
    const draft = (await waitForPipelineEnd(client, name)).job_runs[0]?.created_job_id ?? "";
    const log = await readLog(client, draft);
    assert.match(log, /^two$/m);
    assert.match(log, new RegExp(`^Running etl/report.sh of the commit ${commitId}$`, "m"));
    const task = await createJob(client, input("etl/report.sh", { start_after: "2020-01-01T00:00:00Z" }));
    await waitForEnd(client, task.id);
    const [fired] = await client.call(routes.listJobs, { query: { parent_job_id: task.id } });
    await waitForEnd(client, fired?.id ?? "");
    assert.match(await readLog(client, fired?.id ?? ""), /^two$/m);
    assert.equal((await readJob(client, fired?.id ?? "")).script, "etl/report.sh");
  });

  it("is run by the interpreter in its first line, even without execute permission", async () => {
    await commit({ "named.sh": '#!/usr/bin/env -S awk -f\nBEGIN { print "by awk" }\n' });
    const { job, log } = await runJob(client, input("named.sh"));
    assert.deepEqual([job.status, /^by awk$/m.test(log)], ["COMPLETE", true], log);
  });

  it("may be a link to another file of the repository", async () => {
    await symlink("report.sh", join(place, "etl/latest.sh"));
    await commit({});
    const { job, log } = await runJob(client, input("etl/latest.sh"));
    assert.equal(job.status, "COMPLETE", log);
  });

  it("is never outside the repository, wherever a link leads", async () => {
    const planted = join(folder, "outside");
    await mkdir(planted);
    await writeFile(join(planted, "evil.sh"), "echo PLANTED\n");
    await symlink(join(planted, "evil.sh"), join(place, "file.sh"));
    await symlink(planted, join(place, "folder"));
    await symlink(".git/HEAD", join(place, "head.sh"));
    await commit({});
    for (const [script, why] of [
      ["file.sh", /The script file\.sh is a link to a file outside the repository/],
      ["folder/evil.sh", /The script folder\/evil\.sh is a link to a file outside the repository/],
      ["head.sh", /is in the folder \.git, which is not part of the repository/],
      ["etl", /The script etl is not a file/],
      ["absent.sh", /The repository has no script absent\.sh/],
    ] as const) {
      const { job, log } = await runJob(client, input(script));
      assert.equal(job.status, "FAILED", script);
      assert.match(job.error_message ?? "", why);
      assert.doesNotMatch(log, /PLANTED/);
    }
  });

  it("is cloned without leaving temporary files, which may be on the machine's own disk", async () => {
    const script = join(import.meta.dirname, "../../src/engines/phases/repository.sh");
    for (const [url, revision] of [
      [`file://${place}`, ""],
      [`file://${place}`, "absent"],
    ]) {
      const [cwd, TMPDIR] = [await mkdtemp(join(folder, "clone-")), await mkdtemp(join(folder, "tmp-"))];
      await run("/bin/sh", [script, url, revision] as string[], { cwd, env: { ...process.env, TMPDIR } }).catch(
        () => {},
      );
      assert.ok((await readdir(cwd)).includes(".git"));
      assert.deepEqual(await readdir(TMPDIR), []);
    }
  });

  it("is not replaced by an attached file", async () => {
    const form = new FormData();
    form.set("file", new Blob(["echo PLANTED"]), "named.sh");
    const { id } = (await (
      await server.fetch("/api/datachain/jobs/files?team_name=main", { method: "POST", body: form })
    ).json()) as { id: number };
    const { job } = await runJob(client, input("named.sh", { files: [String(id)] }));
    assert.deepEqual(
      [job.status, job.error_message],
      ["FAILED", "The attached file named.sh would replace the script named.sh of the repository. Rename the file."],
    );
  });

  it("reports that its metadata is not read, instead of failing at an import", async () => {
    await commit({ "meta.sh": '# /// script\n# dependencies = ["x"]\n# ///\necho ran\n' });
    assert.match((await runJob(client, input("meta.sh"))).log, /metadata .* is not read: set its requirements/);
  });

  for (const [what, body, why] of [
    ["a path that leads upwards", { script: "../etl/report.sh" }, /^script: expected a path below/],
    ["one that leads upwards later", { script: "etl/../../x.sh" }, /^script: expected a path below/],
    ["an absolute path", { script: "/etc/profile" }, /^script: expected a path below/],
    ["a path with an empty part", { script: "etl//report.sh" }, /^script: expected a path below/],
    ["git's own folder", { script: ".Git/config" }, /^script: expected a path below/],
    ["a control character", { script: "etl/re\nport.sh" }, /^script: expected a path below/],
    ["more than 1024 characters", { script: "x".repeat(1025) }, /^script: expected at most 1024/],
    [
      "a query beside it",
      { query: "echo", script: "etl/report.sh" },
      /^script: expected only one of `query` and `script`/,
    ],
    [
      "no repository",
      { script: "etl/report.sh", repository: null },
      /^repository: expected the git URL of the repository that contains the script/,
    ],
    [
      "neither a query nor a script",
      {},
      /^query: expected a value, got none\. To run a script of a repository, send `script` and `repository`/,
    ],
  ] as const)
    it(`is refused with ${what}`, async () => {
      const { script: _, ...blank } = input("");
      await refused(createJob(client, { ...blank, ...body }), "invalid", why);
    });
});
