/**
 * The configured limits of jobs apply on managed clusters. sbatch, squeue and scancel are FAKE: they start runners
 * beside the server. The engine is opened as the server opens it, and the runner is the real one.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const settings = {
  MILLRACE_JOB_SECONDS: "20",
  MILLRACE_JOB_MEMORY: "200MiB",
  MILLRACE_JOB_PROCESSES: "20",
  MILLRACE_JOB_OPEN_FILES: "321",
  MILLRACE_JOB_LOG: "1000000",
  MILLRACE_JOB_DISK: "50MiB",
};

/** Writes Slurm's commands as scripts that keep a queue in a folder. Returns the folder of the commands. */
function fakeSlurm(folder: string): string {
  const [bin, queue] = [join(folder, "bin"), join(folder, "queue")];
  for (const path of [bin, queue]) mkdirSync(path);
  const name = (flag: string) => `for word; do case $word in --${flag}=*) name=\${word#*=};; esac; done`;
  const commands = {
    sbatch: `${name("job-name")}
      cat > ${folder}/$name; echo > ${queue}/$name
      (setsid sh -c "sh ${folder}/$name; rm -f ${queue}/$name" > /dev/null 2>&1 < /dev/null &)
      echo 1`,
    squeue: `cd ${queue}; for name in *; do [ -e "$name" ] && printf '%s\\0371\\037RUNNING\\037None\\0370\\n' $name; done; true`,
    scancel: `${name("name")}; rm -f ${queue}/$name`,
  };
  for (const [command, text] of Object.entries(commands))
    writeFileSync(join(bin, command), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return bin;
}

describe("the configured limits on a managed cluster", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-slurm-"));
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess(settings);
    client = await server.client();
    const slurm = { slurm_bin: fakeSlurm(folder) };
    await client.call(routes.createCluster, {
      body: { name: "hpc", engine: "slurm", max_workers: 4, teams: ["main"], slurm },
    });
  });
  after(async () => {
    await server.dispose();
    rmSync(folder, { recursive: true });
  });

  for (const [what, setting, script] of [
    ["200 MiB of memory", "MEMORY", `python3 -c 'kept = bytearray(400_000_000); __import__("time").sleep(1000)'`],
    ["20 processes", "PROCESSES", "for i in $(seq 40); do sleep 1000 & done; wait"],
    ["976.6 KiB of log", "LOG", "head -c 30000000 /dev/zero; sleep 1000"],
    ["50 MiB in its folders", "DISK", "head -c 90000000 /dev/zero > file; sleep 1000"],
    ["20 seconds", "SECONDS", "sleep 1000"],
  ] as const)
    it(`end a job that exceeds ${what}`, async () => {
      const { id } = await createJob(client, shell(script, { compute_cluster_name: "hpc" }));
      const { status, error_message } = await waitForEnd(client, id);
      const words = `The job was ended because it exceeded its limit of ${what} (server setting MILLRACE_JOB_${setting}).`;
      assert.deepEqual([status, error_message], ["FAILED", words]);
      assert.ok(server.runners.folder(`${id}.1`).logSize() <= Number(settings.MILLRACE_JOB_LOG));
    });

  it("end a job whose log is too long when it ends by itself, and keep the log up to its limit", async () => {
    const { job } = await runJob(client, shell("seq 300000", { compute_cluster_name: "hpc" }));
    assert.deepEqual([job.status, job.exit_code], ["FAILED", 0]);
    assert.equal(server.runners.folder(`${job.id}.1`).logSize(), Number(settings.MILLRACE_JOB_LOG));
  });

  it("leave a job alone that keeps them, and its processes get the limit of open files", async () => {
    const { job, log } = await runJob(client, shell("ulimit -n; ulimit -Hn", { compute_cluster_name: "hpc" }));
    assert.deepEqual([job.status, log], ["COMPLETE", "321\n321\n"]);
  });
});
