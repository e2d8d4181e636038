/** How the processes of attempts are found: jobs decide how many processes a machine has. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { AttemptFolder } from "../../src/engines/local/attempt/attempt-folder.ts";
import { AttemptProcesses } from "../../src/engines/local/attempt/attempt-processes.ts";
import { Sweeper } from "../../src/engines/local/attempt/sweeper.ts";
import type { Cgroups } from "../../src/engines/local/processes/cgroups.ts";
import { ProcessSearch } from "../../src/engines/local/processes/processes.ts";

it("a search lets other work run after a few hundred processes, and finds all", async () => {
  const sleepers = spawn("/bin/sh", ["-c", "for _ in $(seq 600); do sleep 600 & echo $!; done; echo; wait"], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pids = new Set<number>();
  for await (const line of createInterface({ input: sleepers.stdout })) {
    if (line === "") break;
    pids.add(Number(line));
  }
  const inTurn = [0];
  const next = () => {
    inTurn.push(0);
    if (!isOver) setImmediate(next);
  };
  let isOver = false;
  setImmediate(next);
  const found = await new ProcessSearch().all((pid) => {
    inTurn.push((inTurn.pop() ?? 0) + 1);
    return pids.has(pid) ? "ours" : "foreign";
  });
  isOver = true;
  process.kill(-(sleepers.pid ?? 0), "SIGKILL");
  await once(sleepers, "exit");
  assert.deepEqual(new Set(found.pids), pids);
  assert.ok(Math.max(...inTurn) <= 256, `${inTurn}`);
});

it("the end of an attempt whose control group is empty looks at no processes of others", async () => {
  const jobs = await mkdtemp(join(tmpdir(), "millrace-sweep-"));
  const folder = new AttemptFolder(jobs, "job.1");
  folder.make();
  folder.write("exit", "0 query end\n");
  folder.group = () => ({ name: "group", oomKills: 0, cpuSeconds: 0 });
  const asked: AttemptFolder[] = [];
  class Asked extends AttemptProcesses {
    override left(folders: readonly AttemptFolder[], ended: boolean) {
      asked.push(...folders);
      return super.left(folders, ended);
    }
  }
  const sweep = (isEmpty: boolean) =>
    new Sweeper({
      bootId: "",
      cgroups: { isEmpty: () => isEmpty, pids: () => [] } as unknown as Cgroups,
      processes: new Asked(() => true),
      endUser: async () => true,
    }).sweep([folder]);
  assert.deepEqual(await sweep(true), []);
  assert.deepEqual(asked, []);
  assert.deepEqual(await sweep(false), []);
  assert.deepEqual(asked, [folder], "a group that still has processes is no proof");
  await rm(jobs, { recursive: true });
});
