/** Control groups of attempts: when a group is used again. Needs a machine on which groups can be created. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Cgroups } from "../../src/engines/local/processes/cgroups.ts";

const limits = { memory: 256 * 1024 ** 2, processes: 64 };

function openGroups(t: TestContext): Cgroups | undefined {
  const root = mkdtempSync(join(tmpdir(), "millrace-groups-"));
  const groups = Cgroups.open({ root, cgroups: join(root, "cgroups") }, limits, new Set());
  t.after(() => {
    groups?.close();
    rmSync(root, { recursive: true });
  });
  if (!groups) t.skip("control groups cannot be created here");
  return groups;
}

/** Leaves a zombie in the group: a process that has exited, and that its parent has not noticed. */
async function leaveZombie(entries: readonly string[]) {
  const join = entries.map((entry) => `echo 0 >'${entry}'`).join("; ");
  const parent = spawn("/bin/sh", ["-c", `(${join}; echo joined) & exec sleep 60`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(parent.stdout, "data");
  return parent;
}

test("a control group is used again", (t) => {
  const groups = openGroups(t);
  if (!groups) return;
  const first = groups.take();
  groups.give(first);
  assert.equal(groups.take().name, first.name);
});

test("a control group with an exiting process is used again once the process has gone", async (t) => {
  const groups = openGroups(t);
  if (!groups) return;
  const first = groups.take();
  const parent = await leaveZombie(groups.entries(first));
  t.after(() => parent.kill("SIGKILL"));
  while (!groups.isEmpty(first)) await new Promise(setImmediate);
  groups.give(first);
  const second = groups.take();
  assert.notEqual(second.name, first.name);
  parent.kill("SIGKILL");
  await once(parent, "exit");
  groups.give(second);
  // The zombie's new parent, the first process of the machine, notices it a moment later.
  const taken = new Set<string>();
  for (const begun = Date.now(); !taken.has(first.name) && Date.now() - begun < 10_000; ) {
    const group = groups.take();
    taken.add(group.name);
    groups.give(group);
    await new Promise(setImmediate);
  }
  assert.ok(taken.has(first.name));
  assert.ok(taken.size <= 2, "no further group was made");
});
