/** Jobs, files, clusters and logs over HTTP. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, type JobInput, routes } from "@millrace/contract";
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
import { blobPlaces, type PlacedBlobs } from "../support/blob-places.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

for (const place of blobPlaces)
  describe(`jobs over HTTP, with files in ${place.name}`, { skip: place.skip }, () => {
    let server: InProcessServer;
    let client: Client;
    let blobs: PlacedBlobs;
    before(async () => {
      blobs = await place.open();
      server = await startInProcess({
        ...blobs.settings,
        MILLRACE_MAX_WORKERS: "3",
        MILLRACE_CANCEL_GRACE: "1",
        MILLRACE_TIMEZONE: "Europe/Berlin",
      });
      client = await server.client();
    });
    after(async () => {
      await server.dispose();
      await blobs.stop();
    });

    const refused = async (body: unknown, status = 422) => {
      const response = await server.fetch("/api/datachain/jobs/", { json: body });
      const { message } = (await response.json()) as { message: string };
      assert.equal(response.status, status, message);
      return message;
    };

    describe("creation", () => {
      it("needs only query and query_type, and returns a job with every field of the contract", async () => {
        const job = await createJob(client, { query: "true", query_type: "SHELL" });
        const document = (await (await server.fetch("/api/openapi.json")).json()) as {
          components: { schemas: { Job: { required: string[] } } };
        };
        assert.deepEqual(Object.keys(job).sort(), document.components.schemas.Job.required.sort());
        assert.deepEqual(
          [job.status, job.workers, job.priority, job.name, job.run_group_id],
          ["CREATED", 1, 5, null, job.id],
        );
        assert.equal(job.url, `${server.url}/team/main/datasets/jobs/${job.id}`);
      });

      it("treats null as absent and ignores unknown fields", async () => {
        const response = await server.fetch("/api/datachain/jobs/", {
          json: {
            query: "true",
            query_type: "SHELL",
            workers: null,
            python_version: null,
            repository: null,
            credentials_name: null,
            files: [],
            environment: "",
            requirements: "",
            surprise: 1,
          },
        });
        assert.equal(response.status, 200);
      });

      const cases: [string, Record<string, unknown>, RegExp][] = [
        ["no query", { query_type: "SHELL" }, /^query: expected a value, got none/],
        ["a number for a text", { query: 1, query_type: "SHELL" }, /^query: expected string, got 1/],
        [
          "a text for a number",
          { query: "", query_type: "SHELL", workers: "2" },
          /^workers: expected integer, got "2"/,
        ],
        [
          "an unknown query_type",
          { query: "", query_type: "RUBY" },
          /^query_type: expected one of PYTHON, SHELL, TYPESCRIPT, got "RUBY"/,
        ],
        ["TYPESCRIPT, which nothing runs", { query: "", query_type: "TYPESCRIPT" }, /^query_type: .*no engine runs/],
        ["a priority out of range", { query: "", query_type: "SHELL", priority: 6 }, /^priority: expected <= 5/],
        [
          "more workers than the cluster has",
          { query: "", query_type: "SHELL", workers: 4 },
          /^workers: expected at most 3 \(the number of slots of the cluster local\)/,
        ],
        [
          "both ways to name a cluster",
          { query: "", query_type: "SHELL", compute_cluster_id: 1, compute_cluster_name: "local" },
          /only one of the two/,
        ],
        [
          "an unknown cluster",
          { query: "", query_type: "SHELL", compute_cluster_name: "moon" },
          /^compute_cluster_name: expected one of local \(1\), got "moon"/,
        ],
        [
          "unknown credentials",
          { query: "", query_type: "SHELL", credentials_name: "aws" },
          /^credentials_name: .*"aws"/,
        ],
        ["a file that is not there", { query: "", query_type: "SHELL", files: ["12345"] }, /^files: .*12345/],
        [
          "a broken environment",
          { query: "", query_type: "SHELL", environment: "A=1\nB" },
          /^environment: expected NAME=VALUE in line 2/,
        ],
        ["a broken time", { query: "", query_type: "SHELL", start_after: "soon" }, /^start_after: expected a time/],
        [
          "a broken cron expression",
          { query: "", query_type: "SHELL", cron_expression: "* *" },
          /^cron_expression: expected five cron fields/,
        ],
        [
          "a repository that is an option",
          { query: "", query_type: "SHELL", repository: "--upload-pack=touch /tmp/x" },
          /^repository: expected a git URL/,
        ],
        [
          "a file:// repository outside the operator's folders",
          { query: "", query_type: "SHELL", repository: "file:///etc" },
          /MILLRACE_JOB_PATHS/,
        ],
        ["a NUL character", { query: "a\0b", query_type: "SHELL" }, /without NUL/],
      ];
      for (const [what, body, message] of cases) {
        it(`refuses ${what} with a 422 that names the field`, async () => assert.match(await refused(body), message));
      }

      it("refuses a body that is not JSON, and creates nothing", async () => {
        const response = await server.fetch("/api/datachain/jobs/", {
          method: "POST",
          body: "{",
          headers: { "content-type": "application/json" },
        });
        assert.equal(response.status, 400);
      });

      it("with a used Idempotency-Key returns the first job", async () => {
        const create = (query: string) =>
          client.call(routes.createJob, { body: shell(query) }, { headers: { "idempotency-key": "same" } });
        const jobs = await Promise.all([create("echo 1"), create("echo 1"), create("echo 1")]);
        assert.equal(new Set(jobs.map((job) => job.id)).size, 1);
        assert.equal((await create("echo 2")).id, jobs[0]?.id);
      });

      it("of a rerun joins the run group of its source, and accepts an unknown id", async () => {
        const first = await createJob(client, shell("true"));
        const second = await createJob(client, shell("true", { rerun_from_job_id: first.id }));
        assert.deepEqual([second.rerun_from_job_id, second.run_group_id], [first.id, first.id]);
        const stranger = await createJob(client, shell("true", { rerun_from_job_id: "from another server" }));
        assert.deepEqual([stranger.rerun_from_job_id, stranger.run_group_id], [null, stranger.id]);
      });

      it("resolves a cluster by name, by id, and by digits as a name", async () => {
        for (const cluster of [
          { compute_cluster_name: "local" },
          { compute_cluster_id: 1 },
          { compute_cluster_name: "1" },
        ]) {
          const job = await createJob(client, shell("true", cluster));
          assert.deepEqual([job.compute_cluster_id, job.compute_cluster_name], [1, "local"]);
        }
      });
    });

    describe("a run", () => {
      it("of a shell script ends COMPLETE with its log, times and steps", async () => {
        const { job, log } = await runJob(client, shell("echo hello"));
        assert.deepEqual([job.status, job.exit_code, job.error_message, log], ["COMPLETE", 0, null, "hello\n"]);
        assert.ok(
          job.started_at && job.finished_at && job.created_at <= job.started_at && job.started_at <= job.finished_at,
        );
        assert.deepEqual(
          job.steps?.map((s) => s.name),
          ["query"],
        );
        assert.ok(job.steps?.every((s) => s.finished_at && s.started_at <= s.finished_at));
      });

      it("of a Python script that raises ends FAILED with message and traceback", async () => {
        const { job } = await runJob(
          client,
          python("def f():\n    raise ValueError('no luck')\ntry:\n    1/0\nexcept ZeroDivisionError:\n    f()\n"),
        );
        assert.deepEqual([job.status, job.exit_code, job.error_message], ["FAILED", 1, "ValueError: no luck"]);
        assert.match(
          job.error_stack ?? "",
          /^Traceback[\s\S]*ZeroDivisionError[\s\S]*During handling[\s\S]*File ".*job.py", line 2, in f[\s\S]*ValueError: no luck$/,
        );
      });

      it("of a Python script that does not parse reports the line", async () => {
        const { job } = await runJob(client, python("def f(:\n"));
        assert.match(job.error_message ?? "", /^SyntaxError/);
        assert.match(job.error_stack ?? "", /line 1/);
      });

      it("that fails otherwise reports the exit code or the signal", async () => {
        assert.match((await runJob(client, shell("exit 3"))).job.error_message ?? "", /exit code 3/);
        assert.match(
          (await runJob(client, shell("kill -9 $$"))).job.error_message ?? "",
          /signal 9 \(SIGKILL\).*memory/,
        );
      });

      it("has its environment, its params and its files, and returns metrics", async () => {
        const file = await client.upload(routes.uploadFile, new Blob(["payload"]), "data.txt");
        assert.deepEqual([file.filename, file.size, file.state, file.error], ["data.txt", 7, "uploaded", ""]);
        const { job, log } = await runJob(
          client,
          shell('echo "$NAME $DATACHAIN_QUERY_PARAMS"; cat data.txt; echo \'{"rows":2}\' > $MILLRACE_METRICS_FILE', {
            environment: 'NAME="a b"\n\n# note\n',
            params: { limit: "5" },
            files: [String(file.id)],
          }),
        );
        assert.equal(log, 'a b {"limit":"5"}\npayload');
        assert.deepEqual(
          [job.environment, job.params, job.metrics, job.files],
          [{ NAME: "a b" }, { limit: "5" }, { rows: 2 }, [String(file.id)]],
        );
      });

      it("on an unknown Python version fails and lists the available versions", async () => {
        const { job } = await runJob(client, python("print(1)", { python_version: "3.99" }));
        assert.equal(job.status, "FAILED");
        assert.match(
          job.error_message ?? "",
          /Python 3\.99 is not installed on this machine\. Installed versions: .*3\./,
        );
      });

      it("finds its script beside its files, under its own name", async () => {
        const { log } = await runJob(
          client,
          python(
            "import os; print(os.path.basename(__file__), os.getcwd() == os.path.dirname(os.path.abspath(__file__)))",
            { query_name: "my script.py" },
          ),
        );
        assert.equal(log, "my_script.py True\n");
      });
    });

    describe("the queue", () => {
      let gates = 0;
      /** A job that runs until `open` is called. */
      const gate = (workers: number) => {
        const path = join(server.dataDir, `gate-${++gates}`);
        const blocker = createJob(client, shell(`while [ ! -e ${path} ]; do sleep 0.02; done`, { workers }));
        return { blocker, open: () => writeFileSync(path, "") };
      };

      it("runs jobs by priority, then by age, and does not let a wide job wait forever", async () => {
        const { open, blocker } = gate(3);
        await waitForStatus(client, (await blocker).id, ["INIT", "RUNNING"]);
        const late = await createJob(client, shell("true", { workers: 3, priority: 5 }));
        const early = await createJob(client, shell("true", { workers: 3, priority: 0 }));
        const wide = await createJob(client, shell("true", { workers: 3, priority: 5 }));
        await waitForStatus(client, late.id, ["QUEUED"]);
        open();
        const ends = await Promise.all([late, early, wide].map(({ id }) => waitForEnd(client, id)));
        const order = [...ends]
          .sort((a, b) => (a.started_at ?? "").localeCompare(b.started_at ?? ""))
          .map(({ id }) => id);
        assert.deepEqual(order, [early.id, late.id, wide.id]);
      });

      it("starts a wide job although narrow ones keep arriving", async () => {
        const narrow = () => createJob(client, shell("sleep 0.05"));
        await Promise.all([narrow(), narrow(), narrow()]);
        const wide = await createJob(client, shell("true", { workers: 3 }));
        let running = true;
        const stream = (async () => {
          while (running) await narrow();
        })();
        await waitForEnd(client, wide.id).finally(() => {
          running = false;
        });
        await stream;
      });

      it("starts a narrow job behind many wide ones that do not fit", async () => {
        const { open, blocker } = gate(1);
        await waitForStatus(client, (await blocker).id, ["INIT", "RUNNING"]);
        const wide = await Promise.all(
          Array.from({ length: 40 }, () => createJob(client, shell("true", { workers: 3 }))),
        );
        const narrow = await createJob(client, shell("true"));
        assert.equal((await waitForEnd(client, narrow.id)).status, "COMPLETE");
        const { status } = await readJob(client, wide[0]?.id ?? "");
        assert.ok(status === "CREATED" || status === "QUEUED", status);
        open();
        await Promise.all(wide.map(({ id }) => waitForEnd(client, id)));
      });

      it("shows the slots that are in use", async () => {
        const job = await createJob(client, shell("sleep 5", { workers: 2 }));
        await waitForStatus(client, job.id, ["RUNNING"]);
        const [cluster] = await client.call(routes.listClusters, { query: {} });
        assert.ok((cluster?.busy_workers ?? 0) >= 2);
        assert.deepEqual([cluster?.max_workers, cluster?.isolation, cluster?.default], [3, "none", true]);
        await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
        await waitForStatus(client, job.id, ["CANCELED"]);
      });
    });

    describe("cancelling", () => {
      const cancel = (id: string) => client.call(routes.cancelJob, { params: { job_id: id }, body: {} });

      it("ends a waiting job at once, and the job never runs", async () => {
        const blocker = await createJob(client, shell("sleep 5", { workers: 3 }));
        await waitForStatus(client, blocker.id, ["RUNNING"]);
        const waiting = await createJob(client, shell("echo ran"));
        await cancel(waiting.id);
        assert.equal((await readJob(client, waiting.id)).status, "CANCELED");
        await cancel(blocker.id);
        await waitForStatus(client, blocker.id, ["CANCELED"]);
        assert.equal(await readLog(client, waiting.id), "");
      });

      it("signals a running job, then kills it; a second request has the same result", async () => {
        const job = await createJob(client, shell("trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done"));
        await waitForStatus(client, job.id, ["RUNNING"]);
        while ((await readLog(client, job.id)) === "") await new Promise((r) => setTimeout(r, 5));
        assert.match((await cancel(job.id)).message, /being canceled/);
        assert.match((await cancel(job.id)).message, /being canceled/);
        const ended = await waitForStatus(client, job.id, ["CANCELED"]);
        assert.match(await readLog(client, job.id), /asked/);
        assert.deepEqual([ended.error_message, ended.exit_code], [null, 137]);
      });

      it("an ended job is a 409 that names its state and the allowed states", async () => {
        const { job } = await runJob(client, shell("true"));
        await assert.rejects(cancel(job.id), (error: Error) =>
          /is COMPLETE; only a job that is CREATED.*RUNNING/.test(error.message),
        );
      });

      it("an unknown job is a 404", async () => {
        await assert.rejects(cancel("01900000-0000-7000-8000-000000000000"), /There is no job/);
      });
    });

    describe("tasks", () => {
      it("with start_after create one job and are then COMPLETE", async () => {
        const task = await createJob(
          client,
          shell("echo child", { start_after: new Date(Date.now() + 300).toISOString() }),
        );
        assert.deepEqual([task.status, task.next_run], ["TASK", task.start_after]);
        await waitForStatus(client, task.id, ["COMPLETE"]);
        const children = (await client.call(routes.listJobs, { query: { limit: 50 } })).filter(
          (job) => job.parent_job_id === task.id,
        );
        assert.equal(children.length, 1);
        await waitForStatus(client, children[0]?.id ?? "", ["COMPLETE"]);
      });

      it("with cron show their next tick; after cancellation they no longer fire", async () => {
        const task = await createJob(
          client,
          shell("true", { cron_expression: "0 3 * * *", start_after: "2031-06-01T12:00" }),
        );
        assert.deepEqual(
          [task.status, task.start_after, task.next_run],
          ["TASK", "2031-06-01T10:00:00.000Z", "2031-06-02T03:00:00.000Z"],
        );
        await client.call(routes.cancelJob, { params: { job_id: task.id }, body: {} });
        const ended = await readJob(client, task.id);
        assert.deepEqual([ended.status, ended.next_run], ["CANCELED", null]);
      });
    });

    describe("listing", () => {
      it("filters by status in any letter case, by ACTIVE and INACTIVE, repeated or comma-separated", async () => {
        const { job } = await runJob(client, shell("exit 1", { query_name: "listed" }));
        const ids = async (search: string) =>
          ((await (await server.fetch(`/api/datachain/jobs/?${search}`)).json()) as { id: string }[]).map((j) => j.id);
        for (const search of [
          "status=failed",
          "status=FAILED&status=RUNNING",
          "status=Inactive",
          "status=running,failed",
          "name=listed",
          "created_by=admin",
        ]) {
          assert.ok((await ids(`${search}&limit=100`)).includes(job.id), search);
        }
        assert.ok(!(await ids("status=active")).includes(job.id));
        assert.equal((await server.fetch("/api/datachain/jobs/?status=happy")).status, 422);
      });

      it("returns steps only on request, and reads True as the client writes it", async () => {
        const read = async (search: string) =>
          (
            (await (await server.fetch(`/api/datachain/jobs/?limit=1&status=complete${search}`)).json()) as {
              steps: unknown;
            }[]
          )[0]?.steps;
        assert.equal(await read(""), null);
        assert.ok(Array.isArray(await read("&include_steps=True")));
      });

      it("pages by cursor without gaps or repetitions", async () => {
        const whole = (await client.call(routes.listJobs, { query: { limit: 12 } })).map((job) => job.id);
        const paged: string[] = [];
        for (let cursor: string | undefined; paged.length < 12; cursor = paged.at(-1)) {
          paged.push(
            ...(await client.call(routes.listJobs, { query: { limit: 4, ...(cursor ? { cursor } : {}) } })).map(
              (job) => job.id,
            ),
          );
        }
        assert.deepEqual(paged, whole);
      });

      it("of one job by id returns that job or nothing", async () => {
        assert.deepEqual(
          await client.call(routes.listJobs, { query: { job_id: "01900000-0000-7000-8000-000000000000" } }),
          [],
        );
        assert.equal((await server.fetch("/api/datachain/jobs/?job_id=nonsense")).status, 422);
      });
    });

    describe("logs", () => {
      it("are bytes, whole or by range, during the run and after it", async () => {
        const job = await createJob(client, shell("printf 'abc\\377'; sleep 0.3; printf 'def'"));
        const get = (headers: Record<string, string> = {}) =>
          server.fetch(`/api/datachain/jobs/${job.id}/logs`, { headers });
        while ((await (await get()).arrayBuffer()).byteLength === 0) await new Promise((r) => setTimeout(r, 5));
        await waitForEnd(client, job.id);
        const whole = await get();
        assert.equal(whole.headers.get("content-type"), "text/plain; charset=utf-8");
        assert.deepEqual(Buffer.from(await whole.arrayBuffer()), Buffer.from("abc\xffdef", "latin1"));
        const part = await get({ range: "bytes=1-4" });
        assert.deepEqual([part.status, part.headers.get("content-range")], [206, "bytes 1-4/7"]);
        assert.deepEqual(Buffer.from(await part.arrayBuffer()), Buffer.from("bc\xffd", "latin1"));
        assert.equal((await get({ range: "bytes=7-" })).status, 416);
      });

      it("are pages of pieces if JSON is requested", async () => {
        const { job } = await runJob(client, shell("for i in 1 2 3 4 5; do echo $i; done; printf tail"));
        const first = await client.call(routes.getJobLogs, { params: { job_id: job.id }, query: { limit: 2 } });
        assert.deepEqual(first, {
          logs: [
            { id: 1, message: "1\n" },
            { id: 3, message: "2\n" },
          ],
          next: 4,
          complete: false,
        });
        const rest = await client.call(routes.getJobLogs, {
          params: { job_id: job.id },
          query: { after: first.next ?? 0 },
        });
        assert.deepEqual(
          [rest.logs.map((p) => p.message), rest.next, rest.complete],
          [["3\n", "4\n", "5\n", "tail"], null, true],
        );
      });

      it("of an unknown job are a 404", async () => {
        assert.equal((await server.fetch("/api/datachain/jobs/01900000-0000-7000-8000-000000000000/logs")).status, 404);
      });
    });

    describe("files", () => {
      const upload = (name: string, size: number, url = server) => {
        const form = new FormData();
        form.set("file", new Blob([new Uint8Array(size)]), name);
        return url.fetch("/api/datachain/jobs/files?team_name=main", { method: "POST", body: form });
      };

      it("get safe names", async () => {
        const body = (await (await upload("../../evil.sh", 3)).json()) as { filename: string; id: number };
        assert.equal(body.filename, "evil.sh");
        assert.ok(body.id > 0);
      });

      it("over the limit are a 413, and nothing is stored", async () => {
        const small = await startInProcess({ ...blobs.another(), MILLRACE_UPLOAD_LIMIT: "1MiB" });
        try {
          assert.equal((await upload("ok", 1024 * 1024, small)).status, 200);
          const response = await upload("big", 3 * 1024 * 1024, small);
          assert.equal(response.status, 413);
          assert.match(((await response.json()) as { message: string }).message, /MILLRACE_UPLOAD_LIMIT/);
          assert.equal((await small.store.db.selectFrom("files").selectAll().execute()).length, 1);
        } finally {
          await small.dispose();
        }
      });

      it("must be the part `file` of a multipart body", async () => {
        assert.equal((await server.fetch("/api/datachain/jobs/files", { json: {} })).status, 415);
        const form = new FormData();
        form.set("other", new Blob(["x"]), "x");
        assert.equal((await server.fetch("/api/datachain/jobs/files", { method: "POST", body: form })).status, 400);
      });

      it("with the same name cannot be attached to one job", async () => {
        const ids = await Promise.all(
          ["a.txt", "a.txt"].map(async (name) => String(((await (await upload(name, 1)).json()) as { id: number }).id)),
        );
        const body: JobInput = shell("true", { files: ids });
        assert.match(await refused(body), /two are called a.txt/);
      });
    });

    it("dataset_job_versions is an empty list for a known job and a 404 for another", async () => {
      const { job } = await runJob(client, shell("true"));
      assert.deepEqual(await client.call(routes.datasetJobVersions, { query: { job_id: job.id } }), {
        dataset_versions: [],
      });
      await assert.rejects(
        client.call(routes.datasetJobVersions, { query: { job_id: "01900000-0000-7000-8000-000000000000" } }),
        /There is no job/,
      );
    });
  });
