/** `datachain job run --repository` with a real git repository. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { readJob } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertStatuses, jobIdOf, logOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { Result } from "./support/datachain.ts";
import { makeRepository } from "./support/git-repository.ts";

const skip = await whyNoDatachain();

describe("datachain job run --repository", { skip, concurrency: 2 }, () => {
  const suite = ClientSuite.use();
  let url: string;
  let firstCommit: string;

  before(async () => {
    const folder = join(suite.shared, "project");
    firstCommit = await makeRepository(folder);
    url = `file://${folder}`;
  });

  /** Runs a script that imports a module of the repository and prints which one it got. */
  async function runIn(repository: string): Promise<Result> {
    const client = await suite.client();
    await client.write(
      "main.py",
      'from tools import edition\nprint("edition:", edition.name)\nprint(open("data.txt").read())\n',
    );
    return client.run("job", "run", "main.py", "--repository", repository);
  }

  function assertEdition(result: Result, name: string): void {
    assert.equal(result.code, 0, result.stdout + result.stderr);
    assertStatuses(result.stdout, "COMPLETE");
    assert.ok(logOf(result.stdout).endsWith(`edition: ${name}\ndata of the ${name} edition\n`), result.stdout);
  }

  test("the script runs in a clone and imports the repository's modules", async () => {
    const result = await runIn(url);
    assertEdition(result, "newest");
    const job = await readJob(suite.api, jobIdOf(result));
    assert.equal(job.repository, url);
    assert.deepEqual(
      job.steps?.map(({ name }) => name),
      ["repository", "files", "query"],
    );
  });

  test("@revision may be a commit", async () => assertEdition(await runIn(`${url}@${firstCommit}`), "first"));

  test("@revision may be a tag", async () => assertEdition(await runIn(`${url}@v1`), "first"));

  test("@revision may be a branch with a slash", async () =>
    assertEdition(await runIn(`${url}@feature/branch`), "branch"));

  test("a revision that does not exist fails the job, and the error says so", async () => {
    const result = await runIn(`${url}@no-such-revision`);
    assert.equal(result.code, 1);
    assertStatuses(result.stdout, "FAILED");
    const { error_message } = await readJob(suite.api, jobIdOf(result));
    assert.match(error_message ?? "", /^The repository could not be cloned: .*no-such-revision/);
  });

  test("a local repository outside the folders that jobs may see is refused", async () => {
    const { code, stdout, stderr } = await runIn(`file://${suite.server.dataDir}/project`);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^Error: repository: expected .*MILLRACE_JOB_PATHS/);
  });
});
