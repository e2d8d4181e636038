/** Repositories that a web server offers as plain files, without git behind it ("dumb HTTP"). */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import type { Client } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const diskLimit = 8 * 1024 ** 2;

describe("a repository served as plain files", () => {
  let server: InProcessServer;
  let admin: Client;
  let folder: string;
  let host: Server;
  let address: string;
  let sent = 0;

  const git = async (name: string, ...args: string[]) => {
    const identity = { "user.name": "Test", "user.email": "test@example.org", "commit.gpgsign": "false" };
    const settings = Object.entries({ ...identity, "protocol.file.allow": "always" });
    const words = settings.flatMap(([key, value]) => ["-c", `${key}=${value}`]);
    await promisify(execFile)("git", ["-C", join(folder, name), ...words, ...args]);
  };
  const makeRepository = async (name: string, submodule?: string) => {
    await promisify(execFile)("git", ["init", "--quiet", "--initial-branch=main", join(folder, name)]);
    if (submodule) {
      await git(name, "submodule", "--quiet", "add", join(folder, submodule), "part");
      await git(name, "config", "-f", ".gitmodules", "submodule.part.url", `${address}/${submodule}/.git`);
      await git(name, "add", ".gitmodules");
    }
    for (const text of ["one", "two"])
      await git(name, "commit", "--quiet", "--allow-empty", "-m", `${text} of ${name}`);
    await git(name, "tag", "v1");
    await git(name, "repack", "--quiet", "-a", "-d");
    await git(name, "update-server-info");
  };

  /** Serves an endless pack if the request is for the repository `endless`. */
  const serveEndless = (response: ServerResponse) => {
    const block = Buffer.alloc(64 * 1024);
    const more = () => {
      do sent += block.length;
      while (!response.destroyed && response.write(block));
    };
    response.on("drain", more);
    more();
  };

  before(async () => {
    server = await startInProcess({ MILLRACE_JOB_DISK: String(diskLimit), MILLRACE_JOB_LOG: String(diskLimit) });
    admin = await server.client();
    folder = await mkdtemp(join(tmpdir(), "millrace-plain-"));
    host = createServer(async (request, response) => {
      const { pathname } = new URL(request.url ?? "", "http://host");
      if (/^\/endless\/.*\.pack$/.test(pathname)) return serveEndless(response);
      const path = join(folder, pathname);
      if (!(await stat(path).catch(() => undefined))?.isFile()) return response.writeHead(404).end();
      createReadStream(path).pipe(response);
    });
    host.listen(0, "127.0.0.1");
    await once(host, "listening");
    address = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
    for (const name of ["part", "endless"]) await makeRepository(name);
    await makeRepository("whole", "part");
  });
  after(async () => {
    host.closeAllConnections();
    host.close();
    await server.dispose();
    await rm(folder, { recursive: true });
  });

  const subjects = "git log --format=%s -1; git -C part log --format=%s -1";
  const ending = (log: string) => log.split("\n").slice(-3);

  it("is cloned completely, with its submodules, and the log says why", async () => {
    const { job, log } = await runJob(admin, shell(subjects, { repository: `${address}/whole/.git` }));
    assert.equal(job.status, "COMPLETE", log);
    assert.match(log, /^The repository is served as plain files: downloading its whole history$/m);
    assert.deepEqual(ending(log), ["two of whole", "two of part", ""]);
  });

  it("can also be cloned at a revision", async () => {
    const { job, log } = await runJob(admin, shell(subjects, { repository: `${address}/whole/.git@v1` }));
    assert.equal(job.status, "COMPLETE", log);
    assert.deepEqual(ending(log), ["two of whole", "two of part", ""]);
  });

  it("that does not exist fails the job with git's reason, after one try", async () => {
    const { job, log } = await runJob(admin, shell(":", { repository: `${address}/nothing/.git` }));
    assert.equal(job.status, "FAILED");
    assert.match(job.error_message ?? "", /^The repository could not be cloned: .*not found/);
    assert.equal(log.match(/Cloning into/g)?.length, 1);
  });

  it("that never ends is cut off at the job's disk limit", async () => {
    const { job, log } = await runJob(admin, shell(":", { repository: `${address}/endless/.git` }));
    assert.equal(job.status, "FAILED", log);
    // Socket buffers may hold more.
    assert.ok(sent > 0 && sent < 8 * diskLimit, `${sent} bytes were sent`);
  });
});
