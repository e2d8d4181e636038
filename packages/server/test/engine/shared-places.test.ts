/** What jobs leave in world-writable directories at the level `uid`: many users, one pass. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { becoming } from "../../src/engines/local/isolation/isolation.ts";
import { openIsolation } from "../../src/engines/local/isolation/open-isolation.ts";
import { findPrograms } from "../../src/engines/local/isolation/programs.ts";
import { LeftBehind, SharedPlaces } from "../../src/engines/local/isolation/shared-places.ts";
import { JobUsers } from "../../src/engines/local/isolation/users.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { jobSpec } from "../support/job-spec.ts";
import { localFixture, whyNot } from "../support/local-engine.ts";

// The directories themselves, even if the tests' folders are elsewhere.
process.env["TMPDIR"] = "/tmp";

const run = promisify(execFile);
const skip = await whyNot("uid");
const range = { first: 57_000, last: 57_999 };

describe("what jobs leave in shared places", { skip }, () => {
  let root: string;
  let place: string;
  let calls: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "millrace-places-"));
    place = join(root, "place");
    calls = join(root, "calls");
  });
  beforeEach(async () => {
    await rm(place, { recursive: true, force: true });
    await mkdir(place);
    await chmod(place, 0o1777);
    await writeFile(calls, "");
  });
  after(() => rm(root, { recursive: true, force: true }));

  /** The real program, with its calls counted. */
  async function counted(first = ""): Promise<string> {
    const path = join(root, "find");
    await writeFile(path, `#!/bin/sh\necho call >>'${calls}'\n${first}\nexec /usr/bin/find "$@"\n`, { mode: 0o755 });
    return path;
  }
  const passes = async () => (await readFile(calls, "utf8")).split("\n").length - 1;
  const open = async (find?: string) =>
    new SharedPlaces({
      range,
      kept: [],
      find: find ?? (await counted()),
      ipcrm: "/usr/bin/ipcrm",
      become: (uid) => becoming("/usr/bin/setpriv", uid),
      folders: [place],
    });
  async function leave(user: number): Promise<void> {
    await mkdir(join(place, `of-${user}`));
    await writeFile(join(place, `of-${user}`, "file"), "left");
    await chown(join(place, `of-${user}`), user, user);
  }
  /** Creates something that nobody can remove: a mount. */
  async function mounted(user: number, act: (path: string) => Promise<void>): Promise<void> {
    const path = join(place, `of-${user}`);
    await mkdir(path, { recursive: true });
    await run("mount", ["-t", "tmpfs", "-o", `size=1m,uid=${user}`, "tmpfs", path]);
    try {
      await act(path);
    } finally {
      await run("umount", [path]);
    }
  }
  const users = Array.from({ length: 40 }, (_, index) => range.first + index);

  it("of many waiting users is removed together: one pass finds, one removes, one checks", async () => {
    for (const user of users) await leave(user);
    const places = await open();
    await Promise.all(users.map((user) => places.clear([user])));
    assert.deepEqual(await readdir(place), []);
    assert.equal(await passes(), 3);
  });

  it("of users that arrive during a pass is removed together in the next pass", async () => {
    for (const user of users) await leave(user);
    const places = await open();
    const [first = 0, ...others] = users;
    const begun = places.clear([first]);
    while ((await passes()) === 0) await sleep(1);
    await Promise.all([begun, ...others.map((user) => places.clear([user]))]);
    assert.deepEqual(await readdir(place), []);
    assert.equal(await passes(), 6);
  });

  it("is searched for once for all waiting users if there is nothing", async () => {
    const places = await open();
    await Promise.all(users.map((user) => places.clear([user])));
    assert.equal(await passes(), 1);
  });

  it("is not removed if it belongs to other users", async () => {
    for (const user of users.slice(0, 2)) await leave(user);
    await (await open()).clear([users[0] as number]);
    assert.deepEqual(await readdir(place), [`of-${users[1]}`]);
  });

  it("reserves its user's id, and only that one, if it cannot be removed", async () => {
    const [stuck = 0, other = 0] = users;
    await leave(other);
    await mounted(stuck, async () => {
      const places = await open();
      const [bad, good] = await Promise.allSettled([places.clear([stuck]), places.clear([other])]);
      assert.equal(good.status, "fulfilled");
      assert.ok(bad.status === "rejected" && bad.reason instanceof LeftBehind, String(bad.status));
      assert.deepEqual(bad.reason.users, [stuck]);
      assert.match(bad.reason.message, /user ids 57000 left in .* cannot be removed: rm: /);
    });
  });

  it("is not reported as removed if the search program is missing or fails", async () => {
    await leave(range.first);
    await assert.rejects((await open(join(root, "nothing"))).clear([range.first]), /ENOENT/);
    await assert.rejects(
      (await open("/bin/false")).clear([range.first]),
      /could not search .* for files that jobs left there: find failed with exit code 1/,
    );
    const broken = await counted("echo \"find: '/tmp/x': Input/output error\" >&2; exit 1");
    await assert.rejects(
      (await open(broken)).clear([range.first]),
      /could not search .* for files that jobs left there: .*Input\/output error/,
    );
  });

  it("is searched for again after a temporary failure", async () => {
    await leave(range.first);
    // Killed at the first call.
    const places = await open(await counted(`[ "$(wc -l <'${calls}')" -gt 1 ] || kill -KILL $$`));
    await places.clear([range.first]);
    assert.deepEqual(await readdir(place), []);
    assert.equal(await passes(), 4);
  });

  it("prevents ids of ended servers from being reused, however much there is", async () => {
    const small = { first: range.first, last: range.first + 4 };
    await leave(small.first);
    const many = Array.from({ length: 3000 }, (_, index) => join(place, `file-${index}`));
    for (const path of many) await writeFile(path, "");
    await chown(many.at(-1) as string, small.first + 2, 0);
    const places = await open();
    const avoid = (asked: readonly number[]) => places.owners(asked);
    const jobs = new JobUsers({
      range: small,
      root,
      inUse: new Map(),
      avoid,
      registry: join(root, "users.db"),
    });
    assert.deepEqual([await jobs.take("a"), await jobs.take("b")], [small.first + 1, small.first + 3]);
    await assert.rejects(jobs.take("c"), /are taken/);
    jobs.close();
  });
});

it("a sandbox works even if the data folder is below /var/tmp, which is the job's own /tmp inside", {
  skip,
}, async (t) => {
  const dataDir = await mkdtemp("/var/tmp/millrace-places-");
  t.after(() => rm(dataDir, { recursive: true }));
  await mkdir(join(dataDir, "jobs"));
  const users = { first: 57_890, last: 57_896 };
  const options = {
    folders: new DataFolder(dataDir).engine,
    users,
    jobPaths: [],
    hidden: [],
    jobEnvironment: {},
    limits: { memory: 0 },
    countsMemory: true,
  };
  const { isolation } = await openIsolation({ ...options, wanted: "bwrap" }, await findPrograms({}));
  isolation.close();
});

describe("a start at uid", { skip }, () => {
  // Different ids for each, because this process keeps the ids that it took.
  let ids = { first: 57_900, last: 57_906 };
  beforeEach(() => {
    ids = { first: ids.first + 10, last: ids.last + 10 };
  });
  const options = (dataDir: string) => ({
    folders: new DataFolder(dataDir).engine,
    users: ids,
    jobPaths: [],
    hidden: [],
    jobEnvironment: {},
    limits: { memory: 0 },
    countsMemory: true,
  });

  it("skips ids whose files cannot be removed, and says so", async () => {
    const fixture = await localFixture("uid");
    await (await fixture.open({ users: ids })).close();
    const left = await mkdtemp(join(tmpdir(), "millrace-left-"));
    await run("mount", ["-t", "tmpfs", "-o", `size=1m,uid=${ids.first}`, "tmpfs", left]);
    try {
      const programs = await findPrograms({});
      const { isolation } = await openIsolation({ ...options(fixture.dataDir), wanted: "uid" }, programs);
      const taken = [];
      for (let id = ids.first + 1; id < ids.last; id++) taken.push(await isolation.takeUser(fixture.folder(`j.${id}`)));
      assert.ok(!taken.includes(ids.first), taken.join());
      await assert.rejects(isolation.takeUser(fixture.folder("j.1")), /are taken/);
      assert.match(isolation.warnings.join(), /user ids 57910 left .* The server does not use these user ids until/);
      isolation.close();
    } finally {
      await run("umount", [left]);
      await rm(left, { recursive: true });
      await fixture.stop();
    }
  });

  it("is refused if it cannot search for remains of jobs, and never falls back to a weaker level", async () => {
    const fixture = await localFixture("uid");
    await (await fixture.open({ users: ids })).close();
    // Sandboxes cannot start without `env`, so the next level is `uid`.
    const programs = { ...(await findPrograms({})), env: "/nonexistent", find: "/bin/false" };
    const opening = openIsolation({ ...options(fixture.dataDir), wanted: "auto" }, programs);
    await assert.rejects(
      opening,
      /Jobs cannot get their own user ids\. The server could not search .*\. Remove the cause, then start the server again/,
    );
    await fixture.stop();
  });

  it("is refused if all its ids are in use, and never falls back to a weaker level", async () => {
    const fixture = await localFixture("uid");
    const other = await localFixture("uid");
    const programs = await findPrograms({});
    await mkdir(join(other.dataDir, "jobs"));
    const { isolation } = await openIsolation({ ...options(other.dataDir), wanted: "uid" }, programs);
    for (let id = ids.first; id < ids.last; id++) await isolation.takeUser(other.folder(`j.${id}`));
    await mkdir(join(fixture.dataDir, "jobs"));
    await assert.rejects(openIsolation({ ...options(fixture.dataDir), wanted: "auto" }, programs), /All user ids/);
    isolation.close();
    await other.stop();
    await fixture.stop();
  });
});

it("a job that could not be cleaned up is cleaned up when another job ends", { skip }, async () => {
  const fixture = await localFixture("uid");
  const engine = await fixture.open({ users: { first: 57_980, last: 57_985 } });
  const left = await mkdtemp(join(tmpdir(), "millrace-left-"));
  for (const key of ["one.1", "two.1"]) {
    await engine.submit(jobSpec({ jobId: key.slice(0, 3), query: "true" }));
    while (fixture.folder(key).exit() === undefined) await sleep(10);
    await engine.sweep([key]);
  }
  await run("mount", ["-t", "tmpfs", "-o", `size=1m,uid=${fixture.folder("one.1").owner()}`, "tmpfs", left]);
  try {
    await assert.rejects(engine.cleanup("one.1"), LeftBehind);
  } finally {
    await run("umount", [left]);
    await rm(left, { recursive: true });
  }
  await engine.cleanup("two.1");
  for (const deadline = Date.now() + 120_000; fixture.folder("one.1").owner() !== -1; await sleep(20)) {
    assert.ok(Date.now() < deadline, "it is still there");
  }
  await engine.close();
  await fixture.stop();
});
