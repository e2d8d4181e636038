/** Jobs over their limits end and name the limit; the server and all others continue. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, routes } from "@millrace/contract";
import { createJob, python, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { millrace, TestServer } from "@millrace/testing/millrace/server.ts";

const isRoot = process.getuid?.() === 0;
const limits = {
  MILLRACE_JOB_SECONDS: "6",
  MILLRACE_JOB_MEMORY: "64MiB",
  MILLRACE_JOB_LOG: "1MiB",
  MILLRACE_JOB_DISK: "8MiB",
  MILLRACE_JOB_PROCESSES: "64",
  MILLRACE_MAX_WORKERS: "6",
};

const settings = [
  { name: "held by the kernel, where control groups can be made", options: {}, skip: !isRoot },
  // An ordinary user cannot create control groups.
  { name: "sampled, where they cannot", options: isRoot ? { user: 60_999 } : {}, skip: false },
];

for (const { name, options, skip } of settings) {
  describe(`limits ${name}`, { skip: skip && "needs root" }, () => {
    let server: TestServer;
    let client: Client;
    before(async () => {
      server = await TestServer.start({ ...options, env: limits });
      client = await server.client();
    });
    after(() => server.dispose());

    const over = {
      memory: [python("x = bytearray(300 << 20)\nimport time; time.sleep(5)"), /limit of 64 MiB of memory/],
      time: [shell("sleep 1000"), /limit of 6 seconds/],
      log: [shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"), /limit of 1 MiB of log/],
      disk: [shell("head -c 60000000 /dev/zero > big; sleep 20"), /limit of 8 MiB in its folders/],
      "disk, in a folder that it has closed": [
        shell("mkdir -p x/y; exec 3>x/y/big; chmod 000 x; head -c 60000000 /dev/zero >&3; sleep 20"),
        /limit of 8 MiB in its folders/,
      ],
    } as const;

    for (const [what, [input, reason]] of Object.entries(over)) {
      it(`a job over its limit of ${what} is FAILED with that reason, and others continue`, async () => {
        const beside = await createJob(client, shell("sleep 1; echo fine"));
        const { id } = await createJob(client, input);
        const job = await waitForStatus(client, id, ["FAILED"]);
        assert.match(job.error_message ?? "", reason);
        await waitForStatus(client, beside.id, ["COMPLETE"]);
        assert.equal((await runJob(client, shell("echo next"))).job.status, "COMPLETE");
      });
    }

    it("in-memory files count as memory, and no other in-memory file system is writable", async () => {
      const script = `import os
for place in ("/", "/run", "/dev", os.path.dirname(os.path.dirname(os.path.dirname(os.getcwd())))):
    try: open(place + "/mine", "w").write("x"); print("wrote to " + place)
    except OSError: pass
print("looked", flush=True)
for number in range(6): open(f"/dev/shm/{number}", "wb").write(bytes(7 << 20))
rest = bytearray(40 << 20)
import time; time.sleep(20)`;
      const { job, log } = await runJob(client, python(script));
      assert.match(job.error_message ?? "", /limit of 64 MiB of memory/);
      assert.match(log, /^looked$/m);
      assert.doesNotMatch(log, /wrote to/);
    });

    it("a job that only fills in-memory files gets no more than its limit", async () => {
      const { job } = await runJob(client, shell("while head -c 7M /dev/zero >/dev/shm/$((i+=1)); do :; done; exit 3"));
      const { samples } = await client.call(routes.getJobUsage, { params: { job_id: job.id }, query: {} });
      for (const { memory_bytes } of samples) assert.ok(memory_bytes < 100 << 20, `${memory_bytes} bytes`);
    });

    it("memory that belongs to no process is counted, or cannot be allocated", async () => {
      const script = `import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
def file():
    made = os.memfd_create("x")
    for _ in range(300): os.write(made, bytes(1 << 20))
def segments():
    for _ in range(30):
        made = libc.shmget(0, 10 << 20, 0o1600)
        if made < 0: raise OSError(ctypes.get_errno(), "shmget")
        libc.shmat.restype = ctypes.c_void_p
        at = libc.shmat(made, None, 0)
        ctypes.memset(at, 1, 10 << 20)
        libc.shmdt(ctypes.c_void_p(at))
for take in (file, segments):
    try: take(); time.sleep(5); print("took it")
    except OSError as error: print("refused", error.errno)`;
      const { job, log } = await runJob(client, python(script));
      assert.doesNotMatch(log, /took it/);
      if (job.status === "FAILED") assert.match(job.error_message ?? "", /limit of 64 MiB of memory/);
      else assert.equal(log.match(/^refused 38$/gm)?.length, 2, log);
    });

    it("the usage of a job can be read, during the run and after it", async () => {
      const { id } = await createJob(client, python("while True: pass"));
      const read = () => client.call(routes.getJobUsage, { params: { job_id: id }, query: {} });
      while ((await read()).samples.length < 2) await sleep(100);
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      await waitForStatus(client, id, ["CANCELED"]);
      const usage = await read();
      assert.ok(usage.samples.length >= 2, JSON.stringify(usage));
      assert.ok((usage.cpu_seconds ?? 0) > 0.2, JSON.stringify(usage));
      assert.ok((usage.peak_memory_bytes ?? 0) > 1_000_000, JSON.stringify(usage));
      const env = {
        ...server.settings,
        DATACHAIN_STUDIO_URL: server.url,
        DATACHAIN_STUDIO_TOKEN: await server.token(),
      };
      const words = ["job", "usage", id, "--team", "main"];
      const { stdout, stderr } = await promisify(execFile)(millrace, words, { env });
      assert.equal(stdout.trim().split("\n").length, usage.samples.length, stdout);
      assert.match(stderr, /s of CPU time, at most [\d.]+ MiB of memory/);
    });
  });
}

describe("a limit on processes", { skip: !isRoot && "needs root" }, () => {
  it("contains a fork bomb", async () => {
    const server = await TestServer.start({ env: { ...limits, MILLRACE_JOB_SECONDS: "3" } });
    try {
      const client = await server.client();
      const { id } = await createJob(client, shell("bomb() { bomb | bomb & }; bomb; sleep 10"));
      assert.equal((await runJob(client, shell("echo fine"))).job.status, "COMPLETE");
      await waitForStatus(client, id, ["FAILED"]);
    } finally {
      await server.dispose();
    }
  });
});

describe("memory that a job leaves behind", { skip: !isRoot && "needs root" }, () => {
  it("is not charged to later jobs", async () => {
    const env = { ...limits, MILLRACE_JOB_SECONDS: "60", MILLRACE_MAX_WORKERS: "3", MILLRACE_ISOLATION: "uid" };
    const server = await TestServer.start({ env });
    try {
      const client = await server.client();
      // The waiting job keeps a reference to what the others leave, so that removing it frees nothing.
      const leave = (name: string) =>
        `head -c 45M /dev/zero >/dev/shm/${name}; ipcmk -M 1000; chmod a+r /dev/shm/${name}`;
      const held = `millrace-held-${process.pid}`;
      const keeper = await createJob(
        client,
        shell(`until [ -e /dev/shm/${held} ]; do sleep 0.05; done; exec 7</dev/shm/${held}; sleep 1000`),
      );
      for (const name of [held, `${held}-2`, `${held}-3`]) {
        assert.equal((await runJob(client, shell(leave(name)))).job.status, "COMPLETE");
      }
      for (let i = 0; i < 6; i++) {
        const { job } = await runJob(client, python("x = bytearray(40 << 20)\nprint(len(x))"));
        assert.equal(job.status, "COMPLETE", job.error_message ?? "");
      }
      const left = (await readdir("/dev/shm")).filter((name) => name.startsWith(held));
      assert.deepEqual(left, []);
      await client.call(routes.cancelJob, { params: { job_id: keeper.id }, body: {} });
    } finally {
      await server.dispose();
    }
  });
});

describe("control groups", { skip: !isRoot && "needs root" }, () => {
  const groups = async (server: TestServer) => {
    const name = `millrace-${createHash("sha256").update(server.dataDir).digest("hex").slice(0, 12)}`;
    // Groups of others may appear and disappear meanwhile.
    const look = 'find /sys/fs/cgroup -type d -path "$1" 2>/dev/null; true';
    const { stdout } = await promisify(execFile)("sh", ["-c", look, "sh", `*/${name}*`]);
    return stdout.split("\n").filter(Boolean);
  };

  it("are removed with their server, except those of running jobs", async () => {
    const server = await TestServer.start({ env: { ...limits, MILLRACE_JOB_SECONDS: "0" } });
    try {
      const client = await server.client();
      await runJob(client, shell("true"));
      const { id } = await createJob(client, shell("while [ -e job.sh ]; do sleep 0.05; done"));
      await waitForStatus(client, id, ["RUNNING"]);
      assert.notDeepEqual(await groups(server), []);
      await server.stop();
      assert.ok((await groups(server)).length > 0, "a job that goes on keeps its group");
      await server.start();
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      await waitForStatus(client, id, ["CANCELED"]);
      await server.stop();
      assert.deepEqual(await groups(server), []);
    } finally {
      await server.dispose();
    }
  });

  it("that a killed server left are removed by the next start, even if it limits nothing", async () => {
    const server = await TestServer.start({ env: limits });
    try {
      await runJob(await server.client(), shell("true"));
      await server.stop("SIGKILL");
      assert.notDeepEqual(await groups(server), []);
      await server.start({ MILLRACE_JOB_MEMORY: "0", MILLRACE_JOB_PROCESSES: "0" });
      // The group of an attempt that was not cleaned up yet is removed with its folder.
      for (const deadline = Date.now() + 60_000; (await groups(server)).length > 0; await sleep(100))
        assert.ok(Date.now() < deadline, "groups are left");
    } finally {
      await server.dispose();
    }
  });
});
