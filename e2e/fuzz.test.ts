/**
 * Everything that the served OpenAPI document describes, called with good and bad input of a fuzzer's making: never 5xx,
 * never an answer that is not described, never bad input that is taken, never a private route without a token.
 *
 * Short form in the test suite; long form: FUZZ_EXAMPLES=1000 npm test fuzz. Another way each time: FUZZ_SEED.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { programIn, whyNoVirtualenv } from "@millrace/testing/programs/virtualenv.ts";

const version = "4.32.5";
const virtualenv = { name: `schemathesis-${version}`, requirement: `schemathesis==${version}` };
const examples = process.env["FUZZ_EXAMPLES"] ?? "30";
const seed = process.env["FUZZ_SEED"] ?? "1";

const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "ignored_auth",
];

describe("the API under a fuzzer", { skip: await whyNoVirtualenv(virtualenv), timeout: 7_200_000 }, () => {
  let server: TestServer;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-fuzz-"));
    const env = { MILLRACE_MAX_WORKERS: "1", MILLRACE_TEAM_QUEUED: "0", MILLRACE_LOGIN_RATE: "1000000" };
    server = await TestServer.start({ env: { ...env, MILLRACE_LOG_LEVEL: "error" } });
    // Holds the only slot: what the fuzzer makes up is text that nobody should run.
    await createJob(await server.client(), shell("while [ -e job.sh ]; do sleep 1; done"));
  });
  after(async () => {
    const client = await server.client();
    const running = await client.call(routes.listJobs, { query: { status: ["INIT", "RUNNING"] } });
    for (const { id } of running) await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    await server.dispose();
    await rm(folder, { recursive: true });
  });

  async function fuzz(...selection: string[]): Promise<void> {
    const words = [
      ...[
        "run",
        `${server.url}${routes.openapiJson.path}`,
        "--header",
        `Authorization: Bearer ${await server.token()}`,
      ],
      ...["--checks", checks.join(","), "--max-examples", examples, "--seed", seed, "--continue-on-failure"],
      // One worker: in threads, Python 3.11 sometimes fails to parse its own source (recursion depth mismatch).
      ...["--workers", "1", "--no-color", ...selection],
    ];
    const child = spawn(programIn(virtualenv, "schemathesis"), words, {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [said, complained, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once("close", resolve)),
    ]);
    assert.equal(code, 0, said + complained + server.output);
  }

  it("every route holds to its description", async () => {
    // The log socket is no exchange of one request and one answer: log-socket.test.ts has it. Logging out ends the
    // token that the others need.
    await fuzz("--exclude-operation-id", routes.followLogs.id, "--exclude-operation-id", routes.deviceLogout.id);
  });

  it("so does logging out, with a token of its own", async () => {
    await fuzz("--include-operation-id", routes.deviceLogout.id);
  });

  it("and the server has met no fault of its own", () => {
    assert.doesNotMatch(server.output, /"level":(50|60)/);
  });
});
