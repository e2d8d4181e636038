/** Time limits and retries of jobs, with real processes: a retry is a new attempt of the same job. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type Job, type JobInput, type LogPiece, routes } from "@millrace/contract";
import {
  createJob,
  python,
  readJob,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { until } from "@millrace/testing/until.ts";
import { WebSocket } from "ws";
import { overTime } from "../../src/domain/lifecycle/retries.ts";
import { blobPlaces, type PlacedBlobs } from "../support/blob-places.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

for (const place of blobPlaces)
  describe(`a job with retries, with logs in ${place.name}`, { skip: place.skip }, () => {
    let blobs: PlacedBlobs;
    let server: InProcessServer;
    let client: Client;
    let folder: string;
    let count = 0;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "millrace-retries-"));
      blobs = await place.open();
      server = await startInProcess({ ...blobs.settings, MILLRACE_MAX_WORKERS: "4" });
      client = await server.client();
    });
    after(async () => {
      await server.dispose();
      await blobs.stop();
      await rm(folder, { recursive: true, force: true });
    });

    /**
     * A script that records each attempt in a file and runs the command of that attempt; the last command is for all
     * later ones.
     */
    const attempting = (...does: readonly string[]) => {
      const notes = join(folder, String(++count));
      const cases = does.map((what, index) => `${index === does.length - 1 ? "*" : index + 1}) ${what} ;;`).join("\n");
      const query = `echo x >> ${notes}; n=$(wc -l < ${notes}); echo "attempt $n"; case $n in\n${cases}\nesac`;
      const begun = async () => (await readFile(notes, "utf8").catch(() => "")).length / 2;
      return { query, begun };
    };
    const soon: Partial<JobInput> = { retry_delay: 0 };
    const attemptsOf = (id: string) => client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} });
    const logOf = async (id: string, attempt: number) =>
      (await server.fetch(`/api/datachain/jobs/${id}/logs?team_name=main&attempt=${attempt}`)).text();
    /** Waits until the job waits for a retry. */
    const waitForBackOff = async (id: string): Promise<Job> => {
      for (;;) {
        const job = await waitForStatus(client, id, ["QUEUED", "INIT", "RUNNING", "CREATED"]);
        if (job.status === "QUEUED" && job.retried > 0) return job;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };

    const follow = async (id: string) => {
      const url = `${server.url.replace("http", "ws")}/api/logs/follow/?team_name=main&job_id=${id}`;
      const socket = new WebSocket(url, { headers: { authorization: `token ${await server.token()}` } });
      const statuses: string[] = [];
      const pieces: LogPiece[] = [];
      socket.on("message", (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as { logs?: LogPiece[]; job?: { status: string } };
        pieces.push(...(frame.logs ?? []));
        if (frame.job) statuses.push(frame.job.status);
      });
      return { socket, statuses, pieces };
    };

    it("is retried until it succeeds, keeps its id, and shows each attempt with its reason and its own log", async () => {
      const { query, begun } = attempting("exit 3", "exit 4", "echo done");
      const { job, log } = await runJob(client, shell(query, { ...soon, retries: 5 }));
      assert.deepEqual([job.status, job.exit_code, job.error_message, job.retried], ["COMPLETE", 0, null, 2]);
      assert.equal(await begun(), 3);
      const { attempts, next_attempt_at, retries } = await attemptsOf(job.id);
      assert.deepEqual(
        attempts.map(({ number, status, exit_code }) => [number, status, exit_code]),
        [
          [1, "FAILED", 3],
          [2, "FAILED", 4],
          [3, "COMPLETE", 0],
        ],
      );
      assert.match(attempts[0]?.error_message ?? "", /exit code 3/);
      assert.ok(
        attempts.every(({ started_at, finished_at }) => started_at && finished_at && started_at <= finished_at),
      );
      assert.deepEqual([next_attempt_at, retries], [null, 5]);
      assert.deepEqual(await Promise.all([1, 2, 3].map((number) => logOf(job.id, number))), [
        "attempt 1\n",
        "attempt 2\n",
        "attempt 3\ndone\n",
      ]);
      assert.match(
        log,
        /^attempt 1\n\[millrace\] Attempt 1 failed: [\s\S]*\n\[millrace\] Attempt 2 is due at .*Z\.\nattempt 2\n/,
      );
      assert.match(log, /\[millrace\] Attempt 2 failed: [\s\S]*attempt 3\ndone\n$/);
      assert.match(await logOf(job.id, 4), /no attempt 4/);
    });

    it("fails after the last retry, with the reason of that attempt", async () => {
      const { query, begun } = attempting("exit 3", "exit 5");
      const { job } = await runJob(client, shell(query, { ...soon, retries: 2 }));
      assert.deepEqual([job.status, job.exit_code, job.retried, await begun()], ["FAILED", 5, 2, 3]);
      assert.match(job.error_message ?? "", /exit code 5/);
    });

    it("is not retried without retries, nor if no engine could start it", async () => {
      const { query, begun } = attempting("exit 3");
      const { job } = await runJob(client, shell(query));
      assert.deepEqual([job.status, job.retried, await begun()], ["FAILED", 0, 1]);
      const { job: refused } = await runJob(client, python("", { ...soon, retries: 3, python_version: "2.1" }));
      assert.deepEqual([refused.status, refused.retried], ["FAILED", 0]);
    });

    it("appears as waiting until its next attempt, and shows when that is due", async () => {
      const { query, begun } = attempting("exit 3", "echo done");
      const { id } = await createJob(client, shell(query, { retries: 1, retry_delay: 3000 }));
      const job = await waitForBackOff(id);
      assert.deepEqual([job.started_at, job.finished_at, job.exit_code, job.error_message], [null, null, null, null]);
      const { attempts, next_attempt_at } = await attemptsOf(id);
      assert.deepEqual([attempts.length, attempts[0]?.status], [1, "FAILED"]);
      const wait = Date.parse(next_attempt_at ?? "") - Date.parse(attempts[0]?.finished_at ?? "");
      assert.ok(wait >= 3_000_000 && wait < 3_100_000, `${wait}`);
      assert.match(await readLog(client, id), /Attempt 2 is due at/);
      const active = await client.call(routes.listJobs, { query: { status: ["ACTIVE"] } });
      assert.ok(active.some((one) => one.id === id));
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      assert.deepEqual([(await readJob(client, id)).status, await begun()], ["CANCELED", 1]);
      assert.equal((await attemptsOf(id)).next_attempt_at, null);
    });

    it("doubles the delay before each further attempt", async () => {
      const { query } = attempting("exit 3", "exit 4", "echo done");
      const { job, log } = await runJob(client, shell(query, { retries: 2, retry_delay: 2 }));
      const { attempts } = await attemptsOf(job.id);
      const due = [...log.matchAll(/Attempt \d is due at (\S+Z)\./g)].map(([, time = ""]) => Date.parse(time));
      const waits = due.map((time, index) => time - Date.parse(attempts[index]?.finished_at ?? ""));
      assert.equal(waits.length, 2);
      // At least: an end is noticed a moment later.
      assert.ok((waits[0] ?? 0) >= 2000 && (waits[1] ?? 0) >= 4000, `${waits}`);
    });

    it("is not retried if it was cancelled while it ran", async () => {
      const { query, begun } = attempting("sleep 100");
      const { id } = await createJob(client, shell(query, { ...soon, retries: 3 }));
      await until("the script has begun", async () => (await begun()) === 1);
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      assert.deepEqual([(await waitForEnd(client, id)).status, await begun()], ["CANCELED", 1]);
    });

    it("is followed through all its attempts over one connection: no final status before the last, ids only grow", async () => {
      const gate = join(folder, "gate");
      const { query } = attempting(
        "printf 'no line end'; exit 3",
        `while [ ! -e ${gate} ]; do sleep 0.05; done; echo done`,
      );
      const { id } = await createJob(client, shell(query, { ...soon, retries: 1 }));
      const { socket, statuses, pieces } = await follow(id);
      // The second attempt ends only after the follower has seen the end of the first.
      socket.on("message", () => {
        if (pieces.some(({ message }) => message.includes("Attempt 2 is due"))) void writeFile(gate, "");
      });
      await once(socket, "close");
      assert.equal(statuses.filter((status) => status === "FAILED").length, 0);
      assert.equal(statuses.at(-1), "COMPLETE");
      let next = 1;
      for (const { id: piece, message } of pieces) {
        assert.equal(piece, next);
        next += Buffer.byteLength(message);
      }
      const text = pieces.map(({ message }) => message).join("");
      assert.match(text, /^attempt 1\nno line end\n\[millrace\] Attempt 1 failed: [\s\S]*attempt 2\ndone\n$/);
      assert.equal(await readLog(client, id), text);
    });

    it("is followed and read with one open file, however many attempts it has had", async () => {
      const path = join(folder, "many-attempts");
      const query = `echo x >> ${path}; [ $(wc -l < ${path}) -gt 6 ] && sleep 1000; exit 1`;
      const { id } = await createJob(client, shell(query, { retries: 8, retry_delay: 0 }));
      const { socket, pieces } = await follow(id);
      const isSent = () =>
        pieces
          .map(({ message }) => message)
          .join("")
          .includes("Attempt 7 is due");
      while (!isSent()) await sleep(20);
      while ((await readJob(client, id)).retried < 6) await sleep(20);
      const opened = async () => {
        const links = await Promise.all(
          (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
        );
        return links.filter((target) => target.includes(`/jobs/${id}.`) && target.endsWith("/log")).length;
      };
      while ((await opened()) > 1) await sleep(20);
      assert.equal((await readLog(client, id)).match(/failed: /g)?.length, 6);
      assert.ok((await opened()) <= 1);
      socket.close();
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      await waitForEnd(client, id);
    });

    it("tells followers how an attempt ended and when the next is due, even if the job is cancelled before", async () => {
      const { id } = await createJob(client, shell("echo tries; sleep 0.5; exit 3", { retries: 1, retry_delay: 3600 }));
      await waitForStatus(client, id, ["RUNNING"]);
      const { socket, statuses, pieces } = await follow(id);
      await once(socket, "open");
      await waitForBackOff(id);
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      await once(socket, "close");
      const text = pieces.map(({ message }) => message).join("");
      assert.match(text, /^tries\n\[millrace\] Attempt 1 failed: .*\n\[millrace\] Attempt 2 is due at .*Z\.\n$/);
      assert.equal(statuses.at(-1), "CANCELED");
    });

    it("is killed if an attempt exceeds its time limit, says so, and is retried", async () => {
      const { query, begun } = attempting("echo begins; sleep 1000", "echo done");
      const { job, log } = await runJob(client, shell(query, { ...soon, timeout: 1, retries: 1 }));
      assert.deepEqual([job.status, await begun()], ["COMPLETE", 2]);
      const reason = (await attemptsOf(job.id)).attempts[0]?.error_message ?? "";
      assert.match(reason, /^The job ran longer than its limit of 1 second\. .*larger `timeout`/);
      assert.match(log, /Attempt 1 failed: The job ran longer than its limit of 1 second\./);
    });

    it("is complete and not retried if it exits successfully at the moment of its time limit", async () => {
      const gate = join(folder, "in-time");
      const { query, begun } = attempting(`while [ ! -e ${gate} ]; do sleep 0.05; done; echo done`);
      const { id } = await createJob(client, shell(query, { ...soon, timeout: 600, retries: 2 }));
      await waitForStatus(client, id, ["RUNNING"]);
      // The state that a server leaves if it has noticed the limit and not yet killed the script.
      await writeFile(join(server.dataDir, "jobs", `${id}.1`, "limit"), overTime(600));
      await writeFile(gate, "");
      const job = await waitForEnd(client, id);
      assert.deepEqual([job.status, job.error_message, await begun()], ["COMPLETE", null, 1]);
    });

    it("has the limits in its script's metadata, unless the request overrides them", async () => {
      const script = '# /// script\n# [tool.millrace]\n# timeout = "10m"\n# retries = 2\n# retry_delay = 5\n# ///\n';
      const job = await createJob(client, python(script, { retries: 0 }));
      assert.deepEqual([job.timeout, job.retries, job.retry_delay], [600, 0, 5]);
      const wrong = script.replace('"10m"', '"soon"');
      await assert.rejects(createJob(client, python(wrong)), /timeout as seconds or a text such as "10m".*soon/);
      await waitForEnd(client, job.id);
    });

    it("has its team's limits if it names none, as they are when an attempt begins or ends; 0 means none", async () => {
      const params = { team_name: "main" };
      const team = await client.call(routes.updateTeam, {
        params,
        body: { job_timeout: 1, job_retries: 1, job_retry_delay: 1 },
      });
      assert.deepEqual([team.job_timeout, team.job_retries, team.job_retry_delay], [1, 1, 1]);
      try {
        const { query } = attempting("sleep 1000");
        const { job } = await runJob(client, shell(query));
        assert.deepEqual([job.status, job.retried, job.timeout, job.retries], ["FAILED", 1, undefined, undefined]);
        assert.match(job.error_message ?? "", /limit of 1 second/);
        const own = attempting("sleep 3; exit 7");
        const { job: without } = await runJob(client, shell(own.query, { timeout: 0, retries: 0 }));
        assert.deepEqual([without.exit_code, without.retried], [7, 0]);
      } finally {
        const none = await client.call(routes.updateTeam, {
          params,
          body: { job_timeout: 0, job_retries: 0, job_retry_delay: 0 },
        });
        assert.deepEqual([none.job_timeout, none.job_retries, none.job_retry_delay], [null, null, null]);
      }
    });
  });
