/** The packages of `npm pack` work outside this repository. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { createClient, routes } from "@millrace/contract";
import { repository } from "@millrace/testing/repository.ts";
import { packedProject } from "./support/packed.ts";

const run = promisify(execFile);

describe("the packages that npm pack creates", { timeout: 300_000 }, () => {
  let folder: string;
  before(async () => {
    folder = await packedProject("contract", "server", "storage", "cli");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("serve and run a job", async () => {
    const millrace = join(folder, "node_modules/.bin/millrace");
    const env = { ...process.env, MILLRACE_DATA_DIR: join(folder, "data"), MILLRACE_PORT: "0" };
    const server = spawn(millrace, ["serve"], { env, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [line] = (await once(server.stdout, "data")) as [Buffer];
      const url = /ready at (\S+)/.exec(line.toString())?.[1] ?? "";
      const { stdout: token } = await run(millrace, ["admin", "token"], { env });
      await writeFile(join(folder, "job.sh"), "echo packed\n");
      const client = { ...env, DATACHAIN_STUDIO_URL: url, DATACHAIN_STUDIO_TOKEN: token.trim() };
      const { stdout } = await run(millrace, ["job", "run", join(folder, "job.sh")], { env: client });
      assert.equal(stdout, "packed\n");
      // The web UI, and the doctor, which runs in a thread with a file of its own.
      assert.match(await (await fetch(url, { headers: { accept: "text/html" } })).text(), /Millrace/);
      const api = createClient({ url, token: token.trim() });
      const findings = await api.call(routes.getDoctor, {});
      assert.ok(JSON.stringify(findings).includes("isolation"), JSON.stringify(findings));
    } finally {
      server.kill();
      await once(server, "exit");
    }
  });

  it("read files through the storage library", async () => {
    const millrace = join(folder, "node_modules/.bin/millrace");
    await writeFile(join(folder, "packed.txt"), "packed");
    const { stdout } = await run(millrace, ["storage", "cat", join(folder, "packed.txt")]);
    assert.equal(stdout, "packed");
  });

  it("have types that a strict project can use", async () => {
    const text = `import { createClient, type Job, routes } from "@millrace/contract";
const client = createClient({ url: "http://127.0.0.1" });
export const list = (): Promise<Job[]> => client.call(routes.listJobs, { query: { limit: 3 } });
// @ts-expect-error a limit is a number
export const wrong = () => client.call(routes.listJobs, { query: { limit: "3" } });
`;
    await writeFile(join(folder, "use.ts"), text);
    const options = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "esnext",
      "--skipLibCheck",
      "--types",
      "",
    ];
    await run(join(repository, "node_modules/.bin/tsc"), [...options, "use.ts"], { cwd: folder });
  });
});
