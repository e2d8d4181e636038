/**
 * Where garbage collection of a team's warehouse runs. It uses the library of the team's last job, which may be
 * anybody's code, so it has the limits of a job and leaves nothing behind.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import type { LocalEngine } from "../../src/engines/local/local-engine.ts";
import { type LocalFixture, localFixture, whyNot } from "../support/local-engine.ts";

const mebibyte = 1024 ** 2;
const isRoot = process.getuid?.() === 0;
/** The user id of a warehouse, which nobody else has. */
const user = 2_600_000 + (process.pid % 100_000);

/** Processes that are alive. A process that has ended stays in the table until its parent reaps it. */
const processesOf = (uid: number) =>
  readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      return new RegExp(`^Uid:\\t${uid}\\b`, "m").test(status) && !/^State:\tZ/m.test(status);
    } catch {
      return false;
    }
  });

for (const level of ["uid", "bwrap"] as const) {
  const skip = isRoot ? await whyNot(level) : "needs root";
  describe(`a sandbox for untrusted code at ${level}`, { skip }, () => {
    let fixture: LocalFixture;
    let engine: LocalEngine;
    before(async () => {
      fixture = await localFixture(level);
      const limits = { seconds: 0, memory: 64 * mebibyte, processes: 20, openFiles: 77, log: 0, disk: 0 };
      engine = await fixture.open({ limits });
    });
    after(async () => {
      await engine.close();
      await fixture.stop();
    });

    const view = (readable: readonly string[] = []) => ({ group: user, readable, writable: [] });
    async function run(command: string, readable: readonly string[] = []) {
      const place = engine.confineStrangers(view(readable));
      const [program = "", ...words] = [...place.words, "/bin/sh", "-c", command];
      try {
        return await promisify(execFile)(program, words, { env: { PATH: "/usr/bin:/bin" } });
      } finally {
        await place.leave();
      }
    }

    it("has the limits of a job", async () => {
      assert.match((await run("id -u; ulimit -n")).stdout, new RegExp(`^${user}\\n77\\n$`));
      await assert.rejects(run("head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null"));
      await assert.rejects(run("i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i + 1)); done; wait"), /ork/);
    });

    it("removes everything that the command left behind", async () => {
      await run("(setsid sleep 300 >/dev/null 2>&1 &); (setsid sh -c 'setsid sleep 300' >/dev/null 2>&1 &)");
      assert.deepEqual(processesOf(user), []);
    });

    it("shows the given folders deep in the data folder, whoever created their parents", async () => {
      const folder = join(fixture.dataDir, "envs/some/environment");
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "file"), "seen");
      for (const path of [fixture.dataDir, join(fixture.dataDir, "envs"), join(folder, "..")]) await chmod(path, 0o711);
      assert.equal((await run(`cat ${folder}/file`, [folder])).stdout, "seen");
    });
  });
}
