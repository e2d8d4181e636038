/** Store conformance for events and deliveries: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type JobStatus, type ToldEvent, webhookLimits } from "@millrace/contract";
import { pino } from "pino";
import type { Team } from "../../src/domain/access/principals.ts";
import type { AttemptResult } from "../../src/domain/events/delivery-attempts.ts";
import { newReceiver, setEnabled } from "../../src/domain/events/receivers.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { noteSchedule, wantedWords } from "../../src/domain/lifecycle/told-events.ts";
import { encryptReceiver } from "../../src/domain/secrets/encryption.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import { type DeliverEvents, deliverEvents } from "../../src/loops/deliver-events.ts";
import { readFaults } from "../../src/machine/faults.ts";
import { Counter } from "../../src/metrics/series.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { eachPart } from "../../src/store/queries/batches.ts";
import { deleteDeliveriesBefore } from "../../src/store/queries/events/deliveries.ts";
import {
  getReceiver,
  insertReceiver,
  receiverCounts,
  updateReceiver,
} from "../../src/store/queries/events/receivers.ts";
import { beginDraftJobs, finishJob, finishJobs, moveJob, moveJobs } from "../../src/store/queries/jobs/job-moves.ts";
import { insertJobs, type NewJob } from "../../src/store/queries/jobs/jobs.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { insertPipeline, movePipeline } from "../../src/store/queries/pipelines/pipelines.ts";
import { Signals } from "../../src/turns/signals.ts";
import { countStore } from "../support/counted-reads.ts";
import { keyRing } from "../support/keys.ts";

const start = Date.UTC(2030, 0, 1);
const hour = 3_600_000;

/** E-mails sent to an address, with their times. */
interface Sent {
  readonly id: string;
  readonly text: string;
  readonly at: number;
}

export function outboxConformance(storeOf: () => Store): void {
  let counter = 0;
  const keys = keyRing();

  /** A team with one receiver, whose attempts end as the test says, with a clock that the test sets. */
  async function ground(events: readonly ToldEvent[], statuses: readonly JobStatus[] = []) {
    const store = storeOf();
    const name = `told-${++counter}`;
    const id = (await store.write((db) => insertTeam(db, { name, created_at: iso(start) }))) as number;
    const team: Team = { id, name, role: "admin" };
    const receiver = await store.write((db) =>
      insertReceiver(db, {
        ...newReceiver(team, "mail", `${name}@example.com`, start),
        events: JSON.stringify(events),
        job_statuses: JSON.stringify(statuses),
        wanted: wantedWords(events, statuses),
      }),
    );
    const time = { now: start };
    const sent: Sent[] = [];
    const hooks: { readonly isForm: boolean; readonly body: string }[] = [];
    const counted = new Counter("deliveries", "");
    let answer: (text: string) => AttemptResult | Promise<AttemptResult> = () => ({
      ok: true,
      status: null,
      error: null,
    });
    const loopOn = (other: Store): DeliverEvents =>
      deliverEvents({
        store: other,
        keys,
        signals: new Signals(),
        clock: { now: () => time.now, monotonic: () => time.now },
        log: pino({ level: "silent" }),
        faults: readFaults(""),
        metrics: { deliveries: counted },
        publicUrl: () => "https://millrace.example",
        sendWebhook: async ({ isForm, body }) => {
          hooks.push({ isForm, body });
          return { ok: false, status: null, error: "no webhook here" };
        },
        sendMail: async ({ to, text, deliveryId }) => {
          if (to !== `${name}@example.com`) return { ok: true, status: null, error: null };
          sent.push({ id: deliveryId, text, at: time.now });
          return answer(text);
        },
        webhookSeconds: 10,
        smtpSeconds: 60,
        webhookRetry: 10,
        stopping: new AbortController().signal,
      });
    /** Runs a loop until it has nothing to do. */
    const work = async (loop = loopOn(store)) => {
      for (let before = -1; before !== sent.length; ) {
        before = sent.length;
        for (let round = 0; round < 3; round++) {
          await loop.runOnce();
          await loop.settled();
        }
      }
    };
    const outbox = async () =>
      (await store.db.selectFrom("outbox").selectAll().where("team_id", "=", id).orderBy("id").execute()).map(
        ({ kind, status }) => `${kind}:${status}`,
      );
    const answering = (how: typeof answer) => {
      answer = how;
    };
    const deliveries = () =>
      store.db.selectFrom("deliveries").selectAll().where("team_id", "=", id).orderBy("id").execute();
    return { store, team, receiver, time, sent, hooks, loopOn, work, outbox, answering, deliveries, counted };
  }

  const jobRow = (team: Team, status: JobStatus, rest: Partial<NewJob> = {}): NewJob => {
    const id = newJobId(start);
    return {
      ...{
        id,
        team_id: team.id,
        user_id: 1,
        cluster_id: 1,
        name: "j",
        status,
        attempt: 0,
        environment: "",
        secrets: "",
      },
      spec: JSON.stringify({ id, run_group_id: id }),
      ...{ scopes: "[]", metrics: "{}", exit_code: null, error_message: null, error_stack: null, steps: null },
      ...{ parent_job_id: null, pipeline_id: null, created_at: iso(start), started_at: null, finished_at: null },
      ...{ log_removed_at: null, log_bytes: null },
      ...rest,
    };
  };

  const failed = { ok: false, status: 503, error: "away" } as const;

  it("records every state change that somebody subscribes to, in the same transaction", async () => {
    const all: JobStatus[] = ["PENDING", "CREATED", "QUEUED", "INIT", "COMPLETE", "CANCELED"];
    const { store, team, outbox } = await ground([], all);
    const rows = [jobRow(team, "PENDING"), jobRow(team, "PENDING")];
    const [first = "", second = ""] = rows.map(({ id }) => id);
    await store.write((db) => insertJobs(db, rows));
    await store.write((db) => beginDraftJobs(db, [first]));
    await store.write((db) => moveJobs(db, { ids: [first], from: ["CREATED"], to: "QUEUED" }));
    await store.write((db) => moveJob(db, { id: first, from: ["QUEUED"], to: "INIT" }));
    await store.write((db) => moveJob(db, { id: first, from: ["INIT"], to: "RUNNING" }));
    await store.write((db) => finishJob(db, { id: first, from: ["RUNNING"], to: "COMPLETE" }));
    await store.write((db) => finishJobs(db, { ids: [second], from: ["PENDING"], to: "CANCELED" }));
    const expected = ["PENDING", "PENDING", "CREATED", "QUEUED", "INIT", "COMPLETE", "CANCELED"];
    assert.deepEqual(
      await outbox(),
      expected.map((status) => `job:${status}`),
    );
    await assert.rejects(
      store.write(async (db) => {
        await insertJobs(db, [jobRow(team, "CREATED")]);
        throw new Error("undone");
      }),
    );
    assert.equal((await outbox()).length, expected.length, "what is undone did not happen");
    assert.equal(await store.write((db) => moveJob(db, { id: first, from: ["QUEUED"], to: "INIT" })), false);
    assert.equal((await outbox()).length, expected.length, "what did not move is not told");
  });

  it("needs no additional statement for a job of a team without receivers", async () => {
    const { store, team, outbox, receiver } = await ground([], ["INIT"]);
    const count = async () => {
      const row = jobRow(team, "QUEUED");
      await store.write((db) => insertJobs(db, [row]));
      const counted = countStore(store);
      await counted.store.write((db) => moveJob(db, { id: row.id, from: ["QUEUED"], to: "INIT" }));
      return counted.statements();
    };
    const heard = await count();
    assert.equal((await outbox()).length, 1);
    await store.write((db) => updateReceiver(db, receiver, { disabled_at: iso(start) }));
    assert.ok((await count()) < heard);
    assert.equal((await outbox()).length, 1);
  });

  it("holds at most ten thousand events of a team, and counts them once for all jobs of a statement", async () => {
    const { store, team, outbox } = await ground([], ["CREATED"]);
    const create = async (count: number) => {
      const rows = [...Array(count)].map(() => jobRow(team, "CREATED"));
      const counted = countStore(store);
      await counted.store.write((db) => insertJobs(db, rows));
      return counted.statements();
    };
    assert.equal(await create(1), await create(9));
    const { id: _, ...event } = await store.db
      .selectFrom("outbox")
      .selectAll()
      .where("team_id", "=", team.id)
      .limit(1)
      .executeTakeFirstOrThrow();
    const filling = Array.from({ length: 10_000 - 12 }, () => event);
    await store.write((db) => eachPart(filling, (part) => db.insertInto("outbox").values(part).execute(), 1000));
    await create(5);
    assert.equal((await outbox()).length, 10_000);
    await create(1);
    assert.equal((await outbox()).length, 10_000);
    // The loops of other tests deliver the events of every team.
    await store.write((db) => db.deleteFrom("outbox").where("team_id", "=", team.id).execute());
  });

  it("delivers each event once, whichever of two servers takes it", async () => {
    const { store, team, sent, loopOn } = await ground([], ["CREATED"]);
    const rows = [...Array(30)].map(() => jobRow(team, "CREATED"));
    await store.write((db) => insertJobs(db, rows));
    const loops = [loopOn(store), loopOn(store)];
    for (let round = 0; round < 20; round++) {
      await Promise.all(loops.map((loop) => loop.runOnce()));
      await Promise.all(loops.map((loop) => loop.settled()));
    }
    assert.equal(new Set(sent.map(({ id }) => id)).size, rows.length);
    assert.equal(sent.length, rows.length);
  });

  it("repeats a delivery, with the same id, if the end of its attempt was not recorded", async () => {
    const { store, team, sent, time, loopOn, work } = await ground([], ["CREATED"]);
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    // Simulates a death before the end of the attempt is recorded: the write after the sending fails.
    let writes = 0;
    const dying: Store = {
      ...store,
      write: (work) => (++writes > 2 ? Promise.reject(new Error("dead")) : store.write(work)),
    };
    const dead = loopOn(dying);
    await dead.runOnce();
    await dead.settled();
    assert.equal(sent.length, 1);
    await work();
    assert.equal(sent.length, 1, "the attempt may still be under way");
    time.now += 2 * 60_000;
    await work();
    assert.deepEqual(
      sent.map(({ id, text }) => [id, text]),
      [0, 1].map(() => [sent[0]?.id, sent[0]?.text]),
    );
  });

  it("retries after 10 seconds and then three times as long each time, across restarts, with back-off for the whole receiver", async () => {
    const { store, team, sent, time, work, answering } = await ground([], ["CREATED"]);
    answering(() => failed);
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    await work();
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    // A server that has just started each time.
    for (const until = start + 130_000; time.now < until; time.now += 1000) await work();
    const times = [...new Set(sent.map(({ at }) => (at - start) / 1000))];
    assert.deepEqual(times, [0, 10, 40, 130].slice(0, times.length));
    assert.ok(times.length >= 3);
    answering(() => ({ ok: true, status: null, error: null }));
    time.now = start + 131_000;
    await work();
    const [receiver] = await store.db.selectFrom("receivers").selectAll().where("team_id", "=", team.id).execute();
    assert.deepEqual([receiver?.failures, receiver?.rests_until], [0, null]);
    assert.equal(new Set(sent.map(({ id }) => id)).size, 2);
  });

  it("calls an unreachable receiver a few times in parallel, not once per waiting delivery", async () => {
    const { store, team, sent, time, work, answering, deliveries } = await ground([], ["CREATED"]);
    answering(() => failed);
    await store.write((db) =>
      insertJobs(
        db,
        [...Array(30)].map(() => jobRow(team, "CREATED")),
      ),
    );
    await work();
    assert.ok(sent.length <= 4, `${sent.length} attempts`);
    const [receiver] = await store.db.selectFrom("receivers").selectAll().where("team_id", "=", team.id).execute();
    assert.equal(receiver?.failures, 1, "what fails side by side counts once");
    answering(() => ({ ok: true, status: null, error: null }));
    time.now += 10_000;
    for (let round = 0; round < 5; round++) await work();
    assert.ok((await deliveries()).every(({ status }) => status === "delivered"));
  });

  it("sends to webhooks while a mail server does not answer, also of the same team", async () => {
    const { store, team, loopOn, answering, deliveries } = await ground([], ["CREATED"]);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    answering(() => released.then(() => ({ ok: true, status: null, error: null })));
    const wishes = { events: "[]", job_statuses: '["CREATED"]', wanted: wantedWords([], ["CREATED"]) };
    const receivers = await store.write(async (db) => {
      const insert = (kind: "mail" | "webhook", address: string) =>
        insertReceiver(db, { ...newReceiver(team, kind, address, start), ...wishes });
      for (let count = 0; count < 5; count++) await insert("mail", `${team.name}@example.com`);
      return insert("webhook", "https://example.com");
    });
    await store.write((db) =>
      insertJobs(
        db,
        [...Array(10)].map(() => jobRow(team, "CREATED")),
      ),
    );
    const loop = loopOn(store);
    for (let round = 0; round < 5; round++) await loop.runOnce();
    const tried = (await deliveries()).filter(({ attempts }) => attempts > 0);
    assert.equal(tried.filter(({ receiver_id }) => receiver_id !== receivers).length, 12, "mail has its own room");
    assert.ok(tried.some(({ receiver_id }) => receiver_id === receivers));
    release();
    await loop.settled();
  });

  it("sends a waiting delivery in the format at the time of its event, even if the webhook's format changed", async () => {
    const { store, team, time, hooks, work } = await ground([]);
    const wishes = { events: "[]", job_statuses: '["CREATED"]', wanted: wantedWords([], ["CREATED"]) };
    const webhook = { ...newReceiver(team, "webhook", "https://example.com", start), ...wishes };
    const target = JSON.stringify({ url: "https://example.com", secret: "" });
    const id = await store.write(async (db) => {
      const made = await insertReceiver(db, webhook);
      await updateReceiver(db, made, { secret: await encryptReceiver(db, keys, made, target) });
      return made;
    });
    const setFormat = (format: "json" | "form") =>
      store.write((db) => db.updateTable("receivers").set({ format }).where("id", "=", id).execute());
    for (const format of ["json", "form"] as const) {
      await setFormat(format);
      await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
      await work();
      await setFormat(format === "json" ? "form" : "json");
      time.now += 3_600_000;
      await work();
    }
    // A webhook that fails gets one delivery at a time, so it may take some attempts until each has had its turn.
    for (let hour = 0; hour < 20; hour++, time.now += 3_600_000) await work();
    assert.ok(hooks.length >= 4, `${hooks.length} attempts`);
    for (const { isForm, body } of hooks) assert.equal(isForm, !body.startsWith("{"), body);
    assert.deepEqual([...new Set(hooks.map(({ isForm }) => isForm))].sort(), [false, true]);
  });

  it("continues with others while a receiver does not answer", async () => {
    const slow = await ground([], ["CREATED"]);
    const quick = await ground([], ["CREATED"]);
    const { store } = slow;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    slow.answering(() => released.then(() => ({ ok: true, status: null, error: null })));
    for (const { team } of [slow, quick])
      await store.write((db) =>
        insertJobs(
          db,
          [...Array(20)].map(() => jobRow(team, "CREATED")),
        ),
      );
    const loop = slow.loopOn(store);
    const isThrough = async () =>
      (await quick.deliveries()).filter(({ status }) => status === "delivered").length === 20;
    for (let round = 0; round < 100 && !(await isThrough()); round++) {
      // Ends only if the loop does not wait for the slow one.
      await loop.runOnce();
      await new Promise(setImmediate);
    }
    assert.ok(await isThrough());
    assert.equal(slow.sent.length, 4, "as many as one receiver may have at a time");
    release();
    await loop.settled();
  });

  it("disables a receiver after ten consecutive failures, keeps waiting deliveries, and sends them once it is enabled", async () => {
    const { store, team, receiver, sent, time, work, answering, deliveries } = await ground([], ["CREATED"]);
    answering(() => failed);
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED"), jobRow(team, "CREATED")]));
    for (let step = 0; step < 40; step++, time.now += hour) await work();
    const row = await getReceiver(store.db, receiver);
    assert.equal(row?.failures, webhookLimits.failuresInRow);
    assert.match(row?.disabled_reason ?? "", /10 attempts in a row failed. The last error: away/);
    const audit = await store.db.selectFrom("audit").selectAll().where("team_id", "=", team.id).execute();
    assert.deepEqual(
      audit.map(({ action }) => action),
      ["notification.disable"],
    );
    assert.deepEqual(
      (await deliveries()).map(({ status, next_at }) => [status, next_at]),
      [0, 1].map(() => ["pending", null]),
    );
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    answering(() => ({ ok: true, status: null, error: null }));
    const before = sent.length;
    await work();
    assert.equal(sent.length, before, "nothing is sent to one that is disabled");
    await store.write(async (db) => setEnabled(db, (await getReceiver(db, receiver)) as never, true, time.now));
    await work();
    assert.equal(sent.length, before + 2);
    assert.deepEqual(
      (await deliveries()).map(({ status }) => status),
      ["delivered", "delivered"],
    );
  });

  it("counts attempts by outcome, waiting deliveries, and disabled receivers", async () => {
    const { store, team, receiver, time, work, answering, counted } = await ground([], ["CREATED"]);
    const outcomes = () =>
      Object.fromEntries(counted.family().samples.map(({ labels, value }) => [labels["outcome"], value]));
    const counts = async () => {
      const rows = (await receiverCounts(store.db)).filter(({ team_id }) => team_id === team.id);
      return rows.map(({ kind, waiting, disabled }) => [kind, Number(waiting), Number(disabled)]);
    };
    assert.deepEqual(await counts(), [["mail", 0, 0]]);
    // An unreachable mail server does not disable an address.
    answering(() => ({ ...failed, isReceivers: false }));
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED"), jobRow(team, "CREATED")]));
    await work();
    assert.deepEqual(await counts(), [["mail", 2, 0]]);
    for (let step = 0; step < 40; step++, time.now += 8 * hour) await work();
    assert.deepEqual(outcomes(), { retried: 2 * (webhookLimits.attempts - 1), failed: 2 });
    answering(() => ({ ok: true, status: null, error: null }));
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    await work();
    assert.equal(outcomes()["delivered"], 1);
    await store.write(async (db) => setEnabled(db, (await getReceiver(db, receiver)) as never, false, time.now));
    assert.deepEqual(await counts(), [["mail", 0, 1]]);
  });

  it("lets at most a thousand deliveries wait for a receiver, and counts dropped ones", async () => {
    const { store, team, receiver, work, answering, deliveries } = await ground([], ["CREATED"]);
    answering(() => failed);
    const rows = [...Array(webhookLimits.waiting + 7)].map(() => jobRow(team, "CREATED"));
    await store.write((db) => insertJobs(db, rows));
    for (let round = 0; round < 6; round++) await work();
    assert.equal((await deliveries()).length, webhookLimits.waiting);
    assert.equal((await getReceiver(store.db, receiver))?.dropped, 7);
  });

  it("makes a delivery that a wrong clock postponed for years", async () => {
    const { store, team, time, sent, work, answering } = await ground([], ["CREATED"]);
    answering(() => failed);
    time.now = start + 3650 * day;
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    await work();
    assert.equal(sent.length, 1);
    time.now = start;
    await work();
    assert.equal(sent.length, 2, "and what fails now waits by the clock as it is now");
    answering(() => ({ ok: true, status: null, error: null }));
    time.now += hour;
    await work();
    assert.equal(sent.length, 3);
  });

  it("deletes deliveries some time after their end, and no waiting ones", async () => {
    const { store, team, time, work, answering, deliveries } = await ground([], ["CREATED"]);
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    await work();
    answering(() => failed);
    await store.write((db) => insertJobs(db, [jobRow(team, "CREATED")]));
    await work();
    await store.write((db) => deleteDeliveriesBefore(db, iso(time.now - 1), 500));
    assert.equal((await deliveries()).length, 2);
    await store.write((db) => deleteDeliveriesBefore(db, iso(time.now + 1), 500));
    assert.deepEqual(
      (await deliveries()).map(({ status }) => status),
      ["pending"],
    );
  });

  it("reports a recovery once: the first success of a task after a failure", async () => {
    const { store, team, sent, work } = await ground(["job.failure", "job.recovery"]);
    const parent_job_id = newJobId(start);
    const run = async (status: "COMPLETE" | "FAILED") => {
      const row = jobRow(team, "RUNNING", { parent_job_id });
      await store.write((db) => insertJobs(db, [row]));
      await store.write((db) => finishJob(db, { id: row.id, from: ["RUNNING"], to: status }));
      await work();
    };
    for (const status of ["COMPLETE", "FAILED", "FAILED", "COMPLETE", "COMPLETE"] as const) await run(status);
    assert.deepEqual(
      sent.map(({ text }) => /Event (\S+),/.exec(text)?.[1]),
      ["job.failure", "job.failure", "job.recovery"],
    );
  });

  it("reports a pipeline instead of its runs: its failure, and its recovery when the next run of its schedule succeeds", async () => {
    const { store, team, sent, work } = await ground(["job.failure", "pipeline.failure", "pipeline.recovery"]);
    const end = async (to: "COMPLETED" | "FAILED", schedule_id: number | null) => {
      const id = newJobId(start);
      const times = { created_at: iso(start), updated_at: iso(start), finished_at: null };
      const texts = { triggered_from: "", datasets: "[]", settings: "{}", environment: "", scopes: "[]" };
      const state = {
        status: "RUNNING",
        is_template: 0,
        open_runs: 0,
        error_message: null,
        error_stack: null,
      } as const;
      const row = { id, team_id: team.id, user_id: 1, name: id, schedule_id, ...state, ...texts, ...times };
      await store.write((db) => insertPipeline(db, row));
      const run = jobRow(team, "RUNNING", { pipeline_id: id });
      await store.write((db) => insertJobs(db, [run]));
      await store.write(async (db) => {
        await finishJob(db, { id: run.id, from: ["RUNNING"], to: to === "FAILED" ? "FAILED" : "COMPLETE" });
        const changes = { error_message: to === "FAILED" ? "j failed" : null };
        await movePipeline(db, { id, from: ["RUNNING"], to, changes });
      });
      await work();
    };
    await end("COMPLETED", 7000 + counter);
    await end("FAILED", 7000 + counter);
    await end("COMPLETED", null);
    await end("COMPLETED", 7000 + counter);
    assert.deepEqual(
      sent.map(({ text }) => /Event (\S+),/.exec(text)?.[1]),
      ["pipeline.failure", "pipeline.recovery"],
    );
    assert.match(sent[0]?.text ?? "", /failed: j failed/);
  });

  it("reports schedule events to subscribers: failure, recovery, skip and overdue", async () => {
    const all = ["schedule.failure", "schedule.recovery", "schedule.skip", "schedule.overdue"] as const;
    const { store, team, sent, work, outbox } = await ground(all);
    const schedule = { team_id: team.id, id: 9000 + counter, name: "nightly", created_at: iso(start) };
    // The order of deliveries is not guaranteed, so the test waits for each.
    const note = async (event: "failure" | "fired" | "skip" | "overdue", message: string | null) => {
      await store.write((db) => noteSchedule(db, schedule, { event, message }, start));
      await work();
    };
    await note("fired", null);
    await note("skip", "the run before goes on");
    await note("failure", "the queue is full");
    await note("fired", null);
    await note("fired", null);
    await note("overdue", "it should have run at two");
    assert.deepEqual(await outbox(), []);
    assert.deepEqual(
      sent.map(({ text }) => text.split("\n")[0]),
      [
        `The schedule nightly of the team ${team.name} skipped a run: the run before goes on`,
        `The schedule nightly of the team ${team.name} could not run: the queue is full`,
        `The schedule nightly of the team ${team.name} runs again.`,
        `The schedule nightly of the team ${team.name} is overdue: it should have run at two`,
      ],
    );
  });
}
