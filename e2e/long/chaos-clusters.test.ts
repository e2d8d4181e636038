/**
 * The chaos test: jobs on this machine, on Slurm and on Kubernetes, while the server is repeatedly killed with -9, and
 * slurmctld, kube-apiserver, kubelet and etcd are killed and started again. Afterwards no acknowledged job is lost, no
 * result was accepted twice, no running job was started again, and every log is byte-identical to what its job wrote.
 *
 * Slurm writes its state at most every five seconds, and no setting changes that. A controller that is killed forgets
 * what it has not written, and ends those jobs on its nodes when it comes back; and it gives their numbers to others,
 * which it may end, too. Such a job may be told as lost, with the reason. It never runs twice either.
 *
 * CHAOS_JOBS and CHAOS_KILLS make it smaller; CHAOS_SEED repeats the jobs and faults of an earlier run.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, isIn, type Job, type JobAttempts, routes } from "@millrace/contract";
import { readJob, readLogBytes } from "@millrace/testing/millrace/jobs.ts";
import { whyNoKubernetes } from "@millrace/testing/programs/kubernetes/kubernetes.ts";
import { Random } from "@millrace/testing/random.ts";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import { whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { until } from "@millrace/testing/until.ts";
import { Faults } from "../support/chaos/faults.ts";
import { type Plan, plan } from "../support/chaos/plans.ts";
import { Site } from "../support/chaos/site.ts";
import { Witness } from "../support/chaos/witness.ts";
import { persistently } from "../support/told-nights.ts";

const jobCount = Number(process.env["CHAOS_JOBS"] ?? 500);
const killCount = Number(process.env["CHAOS_KILLS"] ?? 20);
const seed = Number(process.env["CHAOS_SEED"] ?? Math.floor(Math.random() * 1e9));

/** So many jobs are created before the others are done: more than can run at a time. */
const ahead = 80;

/** Seconds in which a server must have answered: on a machine that does much else, a start takes minutes. */
const patience = 900;

const tell = (facts: object) => process.stdout.write(`chaos: ${JSON.stringify(facts)}\n`);

describe(`${jobCount} jobs on three engines, ${killCount} kills of the server, seed ${seed}`, {
  skip: (await whyNoSlurm()) || (await whyNoKubernetes()),
}, () => {
  it("loses nothing, doubles nothing, and every log is whole", { timeout: 3_600_000 }, async () => {
    const site = await Site.start();
    const witness = await Witness.start(site.kubernetes.hostAddress);
    const events = await Receiver.start();
    try {
      await chaos(site, witness, events);
    } catch (error) {
      process.stderr.write(`${site.server.output.slice(-20_000)}\n`);
      throw error;
    } finally {
      await site.stop();
      await witness.stop();
      await events.stop();
    }
  });
});

async function chaos(site: Site, witness: Witness, events: Receiver): Promise<void> {
  const { client } = site;
  await client.call(routes.createWebhook, {
    body: { url: events.url(), job_statuses: ["RUNNING", "COMPLETE", "FAILED", "CANCELED"] },
  });
  const random = new Random(seed);
  const plans = Array.from({ length: jobCount }, (_, index) => plan(index, random, witness));
  const load = new Load(site, plans, witness);
  const progress = { done: () => load.done / jobCount, running: () => witness.running };
  const faults = new Faults(site, progress, seed, killCount);
  tell({ jobs: jobCount, kills: killCount, seed });
  const causing = faults.cause();
  try {
    await Promise.all([load.run(), causing]);
  } finally {
    faults.stop();
    await causing.catch(() => {});
  }
  tell({ killed: Object.fromEntries(faults.counts), forgottenBySlurm: faults.forgotten.size });

  assert.ok(
    faults.met.some((running) => running > 0),
    "jobs were running when something was killed",
  );
  const ids = await load.ids();
  assert.equal(new Set(ids).size, plans.length, "every job has an id of its own");
  const check = new Check(site, witness, faults);
  const wrong: string[] = [];
  for (const planned of plans)
    await check.job(planned, ids[planned.index] as string).catch((error: Error) => wrong.push(error.message));
  await load.settled();
  tell(check.counts);
  assert.deepEqual(wrong, [], "everything is true of every job");
  await assertEvents(events, plans, ids);
  await assertNothingLeft(site, ids);
}

/** Creates the jobs and cancels some of them, whether or not a server runs. */
class Load {
  readonly #site: Site;
  readonly #plans: readonly Plan[];
  readonly #ids: readonly PromiseWithResolvers<string>[];
  readonly #canceling: Promise<unknown>[] = [];
  readonly #witness: Witness;
  #canceled = 0;

  constructor(site: Site, plans: readonly Plan[], witness: Witness) {
    this.#site = site;
    this.#plans = plans;
    this.#witness = witness;
    this.#ids = plans.map(() => Promise.withResolvers<string>());
    witness.onReady = (job) => {
      const canceling = this.#cancel(job);
      this.#canceling.push(canceling);
      // `settled` tells of it. A test that has failed before does not ask.
      canceling.catch(() => {});
    };
  }

  ids = () => Promise.all(this.#ids.map(({ promise }) => promise));

  /** How many jobs have nothing more to do. */
  get done(): number {
    return this.#witness.done.size + this.#canceled;
  }

  /** Creates the jobs. Each is created again under the same key until the creation is answered. */
  async run(): Promise<void> {
    let next = 0;
    const worker = async () => {
      for (let index = next++; index < this.#plans.length; index = next++) {
        while (index - this.done > ahead) await sleep(50);
        await this.#create(this.#plans[index] as Plan);
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  }

  async #create({ index, input, cancel }: Plan): Promise<void> {
    const headers = { "idempotency-key": `chaos-${index}` };
    const create = () => this.#site.client.call(routes.createJob, { body: input }, { headers });
    this.#ids[index]?.resolve((await persistently(create, patience)).id);
    if (cancel !== "early") return;
    this.#canceled++;
    await this.#cancel(index);
  }

  /** Waits until all cancellations have been answered. */
  settled = () => Promise.all(this.#canceling);

  async #cancel(index: number): Promise<void> {
    const job_id = (await this.#ids[index]?.promise) ?? "";
    try {
      await persistently(() => this.#site.client.call(routes.cancelJob, { params: { job_id }, body: {} }), patience);
    } catch (error) {
      // An earlier call was carried out, and its answer was lost.
      if (!(error instanceof ApiError && error.code === "wrong_state")) throw error;
    }
  }
}

class Check {
  readonly #site: Site;
  readonly #witness: Witness;
  readonly #faults: Faults;
  readonly counts = { COMPLETE: 0, FAILED: 0, CANCELED: 0, lost: 0, bytes: 0, attempts: 0 };

  constructor(site: Site, witness: Witness, faults: Faults) {
    this.#site = site;
    this.#witness = witness;
    this.#faults = faults;
  }

  async job(planned: Plan, id: string): Promise<void> {
    const job = await this.#ended(id);
    const { status } = job;
    const isForgotten = planned.engine === "slurm" && this.#isForgotten(id);
    const place = isForgotten ? "slurm, which forgot it" : planned.engine;
    const name = `job ${planned.index} (${id}) on ${place}, ${status}: ${job.error_message}`;
    this.counts[status as keyof typeof this.counts]++;
    const began = this.#witness.processes("began", planned.index);
    assert.equal(new Set(began).size, began.length, `${name}: no attempt began twice: ${began}`);
    this.counts.attempts += began.length;
    if (isForgotten && (await this.#isLost(planned, job))) return this.#lost(planned, job, name);
    assert.equal(status, planned.status, name);
    if (planned.cancel === "early") return this.#canceledEarly(planned, job, name);
    assert.equal(began.length, planned.codes.length, `${name}: every attempt began`);
    if (planned.cancel === "never") {
      assert.deepEqual(this.#witness.processes("ended", planned.index), began, `${name}: every attempt ended itself`);
      assert.deepEqual(await this.#exitCodes(id), planned.codes, name);
    }
    await this.#log(planned, id, name);
  }

  /** Whether Slurm ended an attempt of a job that it had forgotten. A job that is canceled at that moment does not say so. */
  async #isLost({ cancel, output }: Plan, { id }: Job): Promise<boolean> {
    if ((await this.#attempts(id)).some(isLost)) return true;
    return cancel === "ready" && (await this.#bytes(id)).length < output(1).length;
  }

  /**
   * A lost attempt is followed by another one only if the job has retries. Its log is what it wrote until Slurm ended it;
   * the logs of the others are whole.
   */
  async #lost(planned: Plan, job: Job, name: string): Promise<void> {
    this.counts.lost++;
    tell({ lost: name });
    const attempts = await this.#attempts(job.id);
    // A job whose runner was gone before a cancellation could reach it has failed.
    assert.equal(job.status, attempts.slice(-1).some(isLost) ? "FAILED" : planned.status, name);
    assert.ok(attempts.length <= planned.codes.length, `${name}: ${attempts.length} attempts`);
    for (const attempt of attempts) {
      const bytes = await this.#bytesOf(job.id, attempt.number);
      const whole = planned.output(attempt.number);
      const isWhole = planned.cancel === "never" && !isLost(attempt);
      const what = `${name}: the log of attempt ${attempt.number} is what it wrote until then`;
      assert.ok(isWhole ? bytes.equals(whole) : isBeginning(bytes, whole), what);
    }
  }

  async #canceledEarly(planned: Plan, { id }: Job, name: string): Promise<void> {
    assert.ok(this.#witness.processes("began", planned.index).length <= 1, name);
    assert.ok(isBeginning(await this.#bytes(id), planned.output(1)), `${name}: its log is what it wrote until then`);
  }

  async #log({ codes, output }: Plan, id: string, name: string): Promise<void> {
    const expected = Buffer.concat(codes.map((_, turn) => output(turn + 1)));
    const bytes = await this.#bytes(id);
    this.counts.bytes += bytes.length;
    assert.ok(bytes.equals(expected), `${name}: the log has ${bytes.length} bytes of ${expected.length}`);
    const whole = await readLogBytes(this.#site.client, id);
    assert.equal(await this.#pages(id), new TextDecoder().decode(whole), `${name}: the pages are the log`);
  }

  /** The log without lines of the server about the wait on the cluster, which come before the output of an attempt. */
  async #bytes(id: string): Promise<Buffer> {
    const logs = (await this.#attempts(id)).map(({ number }) => this.#bytesOf(id, number));
    return Buffer.concat(await Promise.all(logs));
  }

  async #bytesOf(id: string, attempt: number): Promise<Buffer> {
    const query = { attempt, format: "text" } as const;
    const response = await this.#site.client.request(routes.getJobLogs, { params: { job_id: id }, query });
    return withoutWaits(Buffer.from(await response.arrayBuffer()));
  }

  async #attempts(id: string): Promise<JobAttempts["attempts"]> {
    return (await this.#site.client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} })).attempts;
  }

  /** The log as text, read page by page. */
  async #pages(id: string): Promise<string> {
    let text = "";
    for (let after = 0; ; ) {
      const query = { format: "json", after, limit: 97 } as const;
      const page = await this.#site.client.call(routes.getJobLogs, { params: { job_id: id }, query });
      text += page.logs.map(({ message }) => message).join("");
      if (page.next === null) return text;
      after = page.next;
    }
  }

  #exitCodes = async (id: string) => (await this.#attempts(id)).map(({ exit_code }) => exit_code);

  #isForgotten = (id: string) => [...this.#faults.forgotten].some((key) => key.startsWith(`${id}.`));

  async #ended(id: string): Promise<Job> {
    for (const deadline = Date.now() + 1000 * patience; ; await sleep(100)) {
      const job = await readJob(this.#site.client, id);
      if (isIn("final", job.status)) return job;
      assert.ok(Date.now() < deadline, `job ${id} is still ${job.status}`);
    }
  }
}

/** Whether Slurm ended the attempt: with SIGKILL, or first with SIGTERM, which gives the runner the time to report it. */
const isLost = ({ error_message: why }: JobAttempts["attempts"][number]) =>
  why?.startsWith("The job was lost: ") ||
  why?.startsWith("The script was ended by signal 15 (SIGTERM). Millrace did not send it");

const waits = Buffer.from("[millrace] The job waits on its cluster. ");

function withoutWaits(log: Buffer): Buffer {
  let rest = log;
  while (rest.subarray(0, waits.length).equals(waits)) rest = rest.subarray(rest.indexOf("\n") + 1);
  return rest;
}

const isBeginning = (part: Buffer, whole: Buffer) => whole.subarray(0, part.length).equals(part);

/**
 * Each end was recorded once, and no attempt was started again: a second acceptance, or a second start, would have
 * caused a second event, with another delivery id.
 */
async function assertEvents(events: Receiver, plans: readonly Plan[], ids: readonly string[]): Promise<void> {
  const ends = () => deliveries(events, ["COMPLETE", "FAILED", "CANCELED"]);
  await until("every end is told", () => ids.every((id) => ends().has(id)), 300);
  const [ended, started] = [ends(), deliveries(events, ["RUNNING"])];
  for (const { index, codes } of plans) {
    const id = ids[index] ?? "";
    assert.equal(ended.get(id)?.size, 1, `job ${index} ended once`);
    assert.ok((started.get(id)?.size ?? 0) <= codes.length, `job ${index} was started once for each attempt`);
  }
}

/** Ids of the deliveries that told one of these states, by the id of the job. */
function deliveries(events: Receiver, statuses: readonly string[]): Map<string, Set<unknown>> {
  const found = new Map<string, Set<unknown>>();
  for (const { headers, body } of events.received) {
    const { job } = JSON.parse(body) as { readonly job?: { readonly id: string; readonly status: string } };
    if (job && statuses.includes(job.status))
      found.set(job.id, (found.get(job.id) ?? new Set()).add(headers["x-millrace-delivery"]));
  }
  return found;
}

async function assertNothingLeft(site: Site, ids: readonly string[]): Promise<void> {
  for (const { name, busy_workers } of await site.client.call(routes.listClusters, { query: {} }))
    assert.equal(busy_workers, 0, `every slot of ${name} came back`);
  const jobs = await site.client.call(routes.listJobs, { query: { limit: 1000 } });
  assert.equal(jobs.length, jobCount, "no job more than were created");
  // What a restarted controller of Slurm wrongly believes to run is removed after some minutes.
  const deadline = Date.now() + 300_000;
  while ((await site.left()).length > 0 && Date.now() < deadline) await sleep(500);
  assert.deepEqual(await site.left(), [], "nothing is left on the clusters");
  assert.deepEqual(processesOf(ids), [], "no process is left on this machine");
  assert.deepEqual(site.server.output.match(/^.*"level":[56]0.*$/gm) ?? [], [], "the server logged no error");
}

/** Command lines of processes of these jobs. */
function processesOf(ids: readonly string[]): string[] {
  const marks = new Set(ids.map((id) => `MILLRACE_JOB_ID=${id}`));
  const read = (path: string) => {
    try {
      return readFileSync(path, "utf8").split("\0");
    } catch {
      return [];
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).some((line) => marks.has(line)))
    .map((pid) => read(`/proc/${pid}/cmdline`).join(" "));
}
