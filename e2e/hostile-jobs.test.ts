/**
 * Jobs that try to reach what is not theirs. Each probe prints BREACH if it succeeds. At levels with guarantees no
 * probe may succeed; at level none, without protection, each must: this shows that every probe really tests something.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, type JobInput, routes } from "@millrace/contract";
import { createJob, readJob, readLogBytes, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";

const isRoot = process.getuid?.() === 0;
/** A user id that no known machine uses. */
const ordinaryUser = 60_999;

interface Setting {
  readonly name: string;
  readonly level: "none" | "uid" | "bwrap";
  readonly user?: number;
}

const settings: readonly Setting[] = [
  { name: "as root at bwrap", level: "bwrap" },
  { name: "as root at uid", level: "uid" },
  { name: "as an ordinary user at bwrap", level: "bwrap", user: ordinaryUser },
  { name: "as an ordinary user at none", level: "none", user: ordinaryUser },
];

for (const { name, level, user } of settings) {
  const skip = !isRoot && user === undefined && "needs root";
  // Without root, the tests already run as an ordinary user.
  const setting = { name, level, ...(isRoot && user !== undefined ? { user } : {}) };
  describe(`a hostile job ${name}`, { skip }, () => hostileJobs(setting));
}

function hostileJobs({ level, user }: Setting): void {
  let server: TestServer;
  let client: Client;
  let victim: string;
  /** A world-writable folder of the machine. */
  let witness: string;
  const holds = level !== "none";

  before(async () => {
    witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
    await chmod(witness, 0o777);
    server = await TestServer.start({
      ...(user === undefined ? {} : { user }),
      env: { MILLRACE_ISOLATION: level, MILLRACE_MAX_WORKERS: "4", PLANTED_IN_SERVER: "planted-server" },
    });
    client = await server.client();
    const query = "echo planted-log; echo planted-file > secret; while [ -e job.sh ]; do sleep 0.2; done";
    const job = await createJob(client, shell(query, { environment: "VICTIM=planted-environment" }));
    victim = join(server.dataDir, "jobs", `${job.id}.1`);
    while (!(await readLogBytes(client, job.id)).includes("planted-log")) await sleep(20);
  });
  after(async () => {
    await server.dispose();
    await rm(witness, { recursive: true, force: true });
  });

  const run = async (input: JobInput) => {
    const { id } = await createJob(client, input);
    const job = await waitForStatus(client, id, ["COMPLETE", "FAILED"]);
    return { job, log: (await readLogBytes(client, id)).toString() };
  };
  /** A script that prints BREACH if it succeeds. */
  const probe = async (script: string, rest: Partial<JobInput> = {}) => {
    const { log } = await run(shell(script, rest));
    assert.equal(log.includes("BREACH"), !holds, log);
  };
  const readable = (path: string) =>
    probe(`if head -c 100 '${path}' >/dev/null 2>&1; then echo BREACH; else echo held; fi`);
  const inEnvironments = (text: string) =>
    probe(
      `for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ 2>/dev/null; done | grep -q '${text}' && echo BREACH || echo held`,
    );

  it("cannot read the server's environment", () => inEnvironments("planted-server"));
  it("cannot read the store", () => readable(join(server.dataDir, "millrace.db")));
  it("cannot read the key of the server", () => readable(join(server.dataDir, "secret.key")));
  it("cannot list or change the data folder", async () => {
    await probe(`ls '${server.dataDir}' | grep -q millrace.db && echo BREACH || echo held`);
    await probe(
      `if touch '${server.dataDir}/jobs/mine' 2>/dev/null; then [ -e '${victim}' ] && echo BREACH; fi; echo held`,
    );
  });
  it("cannot read another job's folder", () => readable(`${victim}/work/secret`));
  it("cannot read another job's log", () => readable(`${victim}/log`));
  it("cannot read another job's environment and token, in its file or in its processes", async () => {
    await readable(`${victim}/input/env`);
    await inEnvironments("planted-environment");
  });

  it("cannot signal the server or another job", async () => {
    const supervisor = (await readFile(join(victim, "supervisor"), "utf8")).split(" ")[0];
    for (const pid of [server.pid, supervisor]) {
      // Inside the sandbox the pid may belong to nobody, or to a process of the job: its name tells.
      await probe(
        `if kill -0 ${pid} 2>/dev/null && [ "$(readlink /proc/${pid}/ns/pid)" != "" ] && grep -qaE "serve|starter.sh" /proc/${pid}/cmdline; then echo BREACH; else echo held; fi`,
      );
    }
  });

  const signalEverything = async () => {
    // Never as root outside a sandbox: it would kill the machine that the tests run on.
    const guard = `[ "$(id -u)" != 0 ] || { echo "root: not tried"; exit 3; }`;
    const alone =
      level === "bwrap" ? `[ "$(tr -d '\\0' </proc/1/comm)" = bwrap ] || exit 3` : `[ "$(id -u)" -ge 61000 ] || exit 3`;
    const { job } = await run(shell(`${guard}; ${alone}; trap '' TERM; kill -TERM -1; kill -KILL -1; echo alive`));
    assert.notEqual(job.exit_code, 3, "the probe found itself where it must not run");
    assert.equal((await client.call(routes.readyz, {})).status, "ready");
    const running = await readJob(client, victim.slice(victim.lastIndexOf("/") + 1, -2));
    assert.equal(running.status, "RUNNING");
  };
  // Without isolation it would kill the server, the tests and everything else of this user.
  if (holds) it("that signals everything kills only itself", signalEverything);

  it("leaves no process behind: not with setsid, a double fork, ignored signals or an empty environment", async () => {
    const mark = `98765${Math.floor(Math.random() * 1e6)}`;
    const stay = `trap "" TERM HUP INT; exec env -i setsid sleep ${mark}`;
    await run(shell(`(setsid sh -c '${stay}' &) ; (sh -c '(${stay}) &' &); env -i setsid -f sleep ${mark}; sleep 0.2`));
    const left = await processesWith(mark);
    assert.equal(left.length > 0, !holds, `processes ${left.join(", ")}`);
    for (const pid of left) process.kill(pid, "SIGKILL");
  });

  it("leaves no chain of processes behind in which each forks the next and exits", async () => {
    // Such a chain is invisible in a list of processes, so it proves its existence by a file. In a sandbox it has none.
    const beat = join(witness, "beat");
    const chain = `import os, sys, time
if os.fork(): sys.exit(0)
os.setsid()
end = time.time() + 8
while time.time() < end:
    if os.fork(): os._exit(0)
    try: open("${beat}", "a").write("x")
    except OSError: pass
    time.sleep(0.0003)
`;
    const { job } = await run(shell(`cat > chain.py <<'EOF'\n${chain}EOF\nexec python3 chain.py`));
    // The file is removed with the job; a chain that continues creates another.
    const folder = join(server.dataDir, "jobs", `${job.id}.1`);
    for (const deadline = Date.now() + 120_000; (await readdir(folder)).includes("work"); await sleep(50)) {
      assert.ok(Date.now() < deadline, "its folder is still there");
    }
    const size = async () => (await stat(beat).catch(() => ({ size: 0 }))).size;
    const before = await size();
    await sleep(500);
    // Without isolation the chain may be caught, or not.
    if (holds) assert.equal(await size(), before, "it goes on");
  });

  it("cannot make its log longer than the limit", async () => {
    const { job } = await run(shell(`python3 -c 'import os; os.ftruncate(1, 8 << 40)'`));
    const { size } = await stat(join(server.dataDir, "jobs", `${job.id}.1`, "log"));
    assert.ok(size <= 20 * 1024 ** 3, `${size} bytes`);
  });

  it("gets no capabilities through its own user namespace: at bwrap it cannot create one", async () => {
    const { log } = await run(shell("if unshare -Urm true; then echo BREACH; else echo held; fi 2>&1"));
    assert.equal(log.includes("BREACH"), level !== "bwrap", log);
    const threads = `python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); print("BREACH" if l.unshare(0x10000000) == 0 else "held")'`;
    assert.equal((await run(shell(threads))).log, level === "bwrap" ? "held\n" : "BREACH\n");
  });

  it("reaches no keyring that jobs share: at bwrap there is none", async () => {
    // A key in the session keyring, which the server's processes share.
    const [addKey] = process.arch === "arm64" ? [217] : [248];
    const script = `import ctypes; l = ctypes.CDLL(None); print("BREACH" if l.syscall(${addKey}, b"user", b"planted", b"x", 1, -3) > 0 else "held")`;
    const { log } = await run(shell(`python3 -c '${script}'`));
    if (level === "bwrap") assert.equal(log, "held\n");
  });

  it("leaves nothing in world-writable places: not in temporary folders, in memory, or in System V IPC", async () => {
    const mark = `millrace-left-${process.pid}-${Math.floor(Math.random() * 1e6)}`;
    const open = join(witness, "..", `${mark}-open`);
    await mkdir(open);
    await chmod(open, 0o777);
    await writeFile(join(open, "operator"), "kept");
    const leave = `umask 0; for place in /tmp /var/tmp /dev/shm /run/lock '${open}'; do
  mkdir $place/${mark} $place/${mark}/closed && touch $place/${mark}-file $place/${mark}/closed/file &&
    ln -s /etc $place/${mark}/link && chmod 0 $place/${mark}/closed
done 2>/dev/null
i=0; while [ $i -lt 3000 ]; do : >/dev/shm/${mark}-$i; i=$((i+1)); done
ipcmk -M 4096 -p 0600; ipcmk -S 1; ipcmk -Q; id -u`;
    const { job, log } = await run(shell(leave));
    const user = /(\d+)\n$/.exec(log)?.[1] ?? "";
    const folder = join(server.dataDir, "jobs", `${job.id}.1`);
    for (const deadline = Date.now() + 120_000; (await readdir(folder)).includes("work"); await sleep(50)) {
      assert.ok(Date.now() < deadline, "its folder is still there");
    }
    const files = await Promise.all(
      ["/tmp", "/var/tmp", "/dev/shm", "/run/lock", open].map(async (place) =>
        (await readdir(place)).filter((name) => name.startsWith(mark) && !name.endsWith("open")),
      ),
    );
    const objects = await Promise.all(["shm", "sem", "msg"].map((kind) => ipcOf(kind, user)));
    assert.equal(files.flat().length > 0 || objects.flat().length > 0, !holds, JSON.stringify([files, objects]));
    if (!holds) await tidy(mark, objects.flat());
    assert.equal(await readFile(join(open, "operator"), "utf8"), "kept");
    await rm(open, { recursive: true, force: true });
  });

  it("can use several processes, as Python does", async () => {
    const script = `python3 -c 'import multiprocessing as m; print(m.Lock(), sum(m.Pool(2).map(abs, [-1, -2])))'`;
    const { log } = await run(shell(script));
    assert.match(log, /3\n$/);
  });

  it("cannot make the server or its programs run with the job's variables", async () => {
    // The dynamic loader writes a file for every program that starts with these variables, as the program's user.
    const spy = join(witness, "loader");
    await run(shell("true", { environment: `LD_DEBUG=files\nLD_DEBUG_OUTPUT=${spy}` }));
    // A file of the job's own user may be removed meanwhile, because it is in a shared directory.
    const uidOf = (name: string) =>
      stat(join(witness, name)).then(
        ({ uid }) => uid,
        () => undefined,
      );
    const owners = await Promise.all((await readdir(witness)).map(uidOf));
    const server = user ?? process.getuid?.() ?? 0;
    assert.equal(owners.includes(server), !holds, `files of the users ${owners.join(", ")}`);
  });

  it("cannot make the server follow a link that the job created", async () => {
    const secret = join(witness, "rows.json");
    await writeFile(secret, '{"planted": 1}');
    const linked = await run(shell(`ln -s '${secret}' "$MILLRACE_METRICS_FILE"`));
    assert.deepEqual(linked.job.metrics, {});
    const kept = join(witness, "kept");
    await mkdir(kept);
    await writeFile(join(kept, "file"), "still here");
    await run(shell(`ln -s '${kept}' folder; ln -s '${kept}/file' file; mkdir deep; ln -s / deep/root`));
    await sleep(300);
    assert.equal(await readFile(join(kept, "file"), "utf8"), "still here");
  });

  it("cannot prevent the removal of its folder: not by its depth, not by its permissions", async () => {
    const { job } = await run(
      shell(
        `i=0; while [ $i -lt 600 ]; do mkdir dddddddddd && cd dddddddddd || exit; i=$((i+1)); done; cd "$HOME"; mkdir closed; touch closed/file; chmod 0 closed`,
      ),
    );
    const folder = join(server.dataDir, "jobs", `${job.id}.1`);
    for (const deadline = Date.now() + 120_000; (await readdir(folder)).includes("work"); await sleep(50)) {
      assert.ok(Date.now() < deadline, "the folder is still there");
    }
  });

  it("cannot change an environment that another job uses", { timeout: 120_000 }, async () => {
    const uses = { requirements: "# an environment with nothing in it" };
    await run(shell('test -x "$VIRTUAL_ENV/bin/python"', uses));
    await probe(
      'if touch "$VIRTUAL_ENV/mine" "$VIRTUAL_ENV/bin/mine" 2>/dev/null; then echo BREACH; else echo held; fi',
      uses,
    );
    await probe('if chmod -R a+w "$VIRTUAL_ENV" 2>/dev/null; then echo BREACH; else echo held; fi', uses);
  });
}

/** Arguments for ipcrm: System V objects of a user. */
async function ipcOf(kind: string, user: string): Promise<string[]> {
  const [header = "", ...rows] = (await readFile(`/proc/sysvipc/${kind}`, "latin1")).trimEnd().split("\n");
  const column = header.trim().split(/\s+/).indexOf("uid");
  const flag = { shm: "-m", sem: "-s", msg: "-q" }[kind] ?? "";
  const cells = rows.map((row) => row.trim().split(/\s+/));
  return cells.filter((row) => row[column] === user).flatMap((row) => [flag, row[1] ?? ""]);
}

/** What the probe left, if nothing stops it. */
async function tidy(mark: string, objects: string[]): Promise<void> {
  for (const place of ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"]) {
    const names = (await readdir(place)).filter((name) => name.startsWith(mark) && !name.endsWith("open"));
    for (const name of names) await rm(join(place, name), { recursive: true, force: true });
  }
  if (objects.length > 0) await promisify(execFile)("ipcrm", objects);
}

async function processesWith(word: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const words = (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).split("\0");
      return words.includes(word) ? [pid] : [];
    }),
  );
  return found.flat();
}
