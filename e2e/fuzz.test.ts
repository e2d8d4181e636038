/**
 * A fuzzer calls everything in the served OpenAPI document with good and bad input: never a 5xx, never an undocumented
 * answer, never accepted bad input, never a private route without a token.
 *
 * Short form in the test suite; long form: FUZZ_EXAMPLES=1000 npm test fuzz. FUZZ_SEED selects other input.
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
const examples = process.env["FUZZ_EXAMPLES"] ?? "15";
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
    // Occupies the only slot, because nobody should run what the fuzzer generates.
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

  it("every route matches its description", async () => {
    // The log socket does not have one request and one answer: log-socket.test.ts tests it. Logging out revokes the
    // token that the others need.
    await fuzz("--exclude-operation-id", routes.followLogs.id, "--exclude-operation-id", routes.deviceLogout.id);
  });

  it("logging out matches it, too, with its own token", async () => {
    await fuzz("--include-operation-id", routes.deviceLogout.id);
  });

  it("the server has logged no internal error", () => {
    assert.doesNotMatch(server.output, /"level":(50|60)/);
  });
});
