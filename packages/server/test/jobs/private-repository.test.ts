/** A repository that needs a password, cloned with credentials as docs/credentials.md describes. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type Client, routes } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const run = promisify(execFile);
const token = "token-of-the-host-1";

describe("a private repository", () => {
  let server: InProcessServer;
  let admin: Client;
  let folder: string;
  let host: Server;
  let address: string;

  before(async () => {
    server = await startInProcess();
    admin = await server.client();
    folder = await mkdtemp(join(tmpdir(), "millrace-private-"));
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
    await run("git", ["init", "--quiet", join(folder, "repo.git")]);
    await run("git", ["-C", join(folder, "repo.git"), ...identity, "commit", "--quiet", "--allow-empty", "-m", "one"]);
    host = gitHost(folder);
    host.listen(0, "127.0.0.1");
    await once(host, "listening");
    address = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  });
  after(async () => {
    host.close();
    await server.dispose();
    await rm(folder, { recursive: true });
  });

  it("is cloned with the variables that docs/credentials.md shows, beside other credentials", async () => {
    const page = await readFile(join(import.meta.dirname, "../../../../docs/credentials.md"), "utf8");
    const shown = /```dotenv\n(GIT_TOKEN=[\s\S]*?)```/.exec(page)?.[1] ?? "";
    const dotenv = shown.replace(/^GIT_TOKEN=.*$/m, `GIT_TOKEN=${token}`).replace("https://git.example.com", address);
    await admin.call(routes.setTeamCredentials, { body: { name: "git", dotenv } });
    await admin.call(routes.setTeamCredentials, { body: { name: "aws", values: { AWS: "a" } } });
    const wish = { repository: `${address}/repo.git`, credentials_names: ["aws", "git"] };
    const { job, log } = await runJob(admin, shell('git log --format=%s; echo "$AWS"', wish));
    assert.deepEqual([job.status, log.split("\n").slice(-3)], ["COMPLETE", ["one", "a", ""]], log);
  });

  it("fails the job without credentials, without waiting for input", async () => {
    const { job } = await runJob(admin, shell(":", { repository: `${address}/repo.git` }));
    assert.equal(job.status, "FAILED");
    assert.match(job.error_message ?? "", /^The repository could not be cloned: .*could not read Username/);
  });
});

/** git's own HTTP server, behind a password. */
function gitHost(folder: string): Server {
  const wanted = `Basic ${Buffer.from(`token:${token}`).toString("base64")}`;
  return createServer((request, response) => {
    if (request.headers.authorization !== wanted) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? "", "http://host");
    const backend = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: "1",
        // The repository belongs to the test's user, which may differ from the user of git's server.
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        REMOTE_USER: "token",
      },
    });
    request.pipe(backend.stdin);
    const parts: Buffer[] = [];
    backend.stdout.on("data", (bytes: Buffer) => parts.push(bytes));
    backend.on("close", () => {
      const answer = Buffer.concat(parts);
      const end = answer.indexOf("\r\n\r\n");
      for (const line of answer.subarray(0, end).toString().split("\r\n")) {
        const [name = "", value = ""] = line.split(": ");
        if (name === "Status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(answer.subarray(end + 4));
    });
  });
}
