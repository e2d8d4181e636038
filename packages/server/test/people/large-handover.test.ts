/**
 * Much work of a user who leaves is handed over in many short writes. If the server stops in between, the same request
 * completes it. On both databases.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { operator } from "../../src/domain/access/audit.ts";
import type { Call } from "../../src/domain/access/call.ts";
import { itemsPerWrite, partsOf, runsPerWrite } from "../../src/domain/ownership/move-work.ts";
import type { FoundWork } from "../../src/domain/ownership/work.ts";
import { removeMember } from "../../src/domain/people/memberships.ts";
import type { Db, Store } from "../../src/store/drivers/store.ts";
import { findMember } from "../../src/store/queries/people/memberships.ts";
import { findUser } from "../../src/store/queries/people/users.ts";
import { getPipeline } from "../../src/store/queries/pipelines/pipelines.ts";
import { setTaskRunAs } from "../../src/store/queries/schedules/tasks.ts";
import { buildPipeline, now } from "../support/built-pipelines.ts";
import { countReads } from "../support/counted-reads.ts";
import type { InProcessServer } from "../support/in-process.ts";
import { databases, startOn } from "../support/on-database.ts";
import { addPerson, refused } from "../support/people.ts";

/** Runs of a pipeline that needs three writes. */
const many = 2 * runsPerWrite + 50;
const team = { id: 1, name: "main", role: "admin" } as const;
const call = { actor: operator, team, principal: { isAdmin: true, via: { kind: "token" } } } as unknown as Call;

for (const kind of databases)
  describe(`much work of a user who leaves, on ${kind}`, () => {
    let server: InProcessServer;
    let store: Store;
    before(async () => {
      server = await startOn(kind);
      store = server.store;
      for (const name of ["next", "other"]) await addPerson(server, name, { team: "main" });
    });
    after(() => server.dispose());

    let counter = 0;
    let leaver = "";
    beforeEach(async () => {
      // Pipelines of earlier tests would only be searched again and again.
      await store.write((db) => db.updateTable("pipelines").set({ status: "CANCELED" }).execute());
      leaver = `leaver-${++counter}`;
      await addPerson(server, leaver, { team: "main" });
    });

    const idOf = async (username: string) => (await findUser(store.db, username))?.id ?? assert.fail("no user");
    /** Builds a paused pipeline whose jobs the leaver created. */
    async function build(runs: number): Promise<string> {
      const shape = Object.fromEntries(Array.from({ length: runs }, (_, index) => [`run-${index}`, []]));
      const { row } = await buildPipeline(store, shape, { status: "PAUSED" });
      const user_id = await idOf(leaver);
      // Users of other tests have taken over all other jobs, or created them.
      await store.write((db) => db.updateTable("jobs").set({ user_id }).where("user_id", "=", 1).execute());
      return row.id;
    }
    /** How many drafts of a pipeline belong to whom. */
    async function ownersOf(pipelineId: string): Promise<Record<string, number>> {
      const rows = await store.db
        .selectFrom("jobs")
        .innerJoin("users", "users.id", "jobs.user_id")
        .select(["users.username", (eb) => eb.fn.countAll().as("count")])
        .where("jobs.pipeline_id", "=", pipelineId)
        .groupBy("users.username")
        .execute();
      return Object.fromEntries(rows.map(({ username, count }) => [username, Number(count)]));
    }
    async function draftsLeft(): Promise<number> {
      const query = store.db.selectFrom("jobs").select((eb) => eb.fn.countAll().as("count"));
      const of = query.where("user_id", "=", await idOf(leaver)).where("pipeline_id", "is not", null);
      return Number((await of.executeTakeFirstOrThrow()).count);
    }
    const remove = (transferTo: string, through: Store = store) =>
      removeMember(through, call, { username: leaver, transferTo, force: false }, now);
    const isMember = async () => (await findMember(store.db, team.id, leaver)) !== undefined;
    const audited = async () =>
      (
        await store.db.selectFrom("audit").select("detail").where("action", "=", "pipeline.hand-over").execute()
      ).flatMap(({ detail }) => (detail.startsWith(`${leaver} `) ? detail.slice(leaver.length + 1) : []));
    const through = (write: <T>(work: (db: Db) => Promise<T>) => Promise<T>): Store => ({ ...store, write });
    /** A store that fails after the write that checks whether the user may leave, and one more. */
    const stopping = () => {
      let writes = 0;
      return through((work) => {
        if (++writes > 2) throw new Error("the server stops");
        return store.write(work);
      });
    };

    it("is handed over with few statements and runs in each write", async () => {
      const large = [await build(many), await build(many)];
      const small: string[] = [];
      for (let index = 0; index < itemsPerWrite + 10; index++) small.push(await build(1));
      const writes: { statements: number; moved: number }[] = [];
      let left = await draftsLeft();
      const counting = through(async (work) => {
        let statements = 0;
        const result = await store.write(async (db) => {
          const counted = countReads(db);
          const done = await work(counted.db);
          statements = counted.statements();
          return done;
        });
        const moved = left - (await draftsLeft());
        left -= moved;
        writes.push({ statements, moved });
        return result;
      });
      await remove("next", counting);

      assert.equal(await isMember(), false);
      for (const id of large) assert.deepEqual(await ownersOf(id), { next: many });
      for (const id of small) assert.deepEqual(await ownersOf(id), { next: 1 });
      const whole = { of: { [await idOf(leaver)]: await idOf("next") } };
      for (const id of [...large, ...small])
        assert.deepEqual(JSON.parse((await getPipeline(store.db, id))?.run_as ?? ""), whole);
      const last = writes.pop();
      assert.equal(last?.moved, 0, "the write in which the user leaves had nothing left to hand over");
      for (const { statements, moved } of writes) {
        assert.ok(moved <= runsPerWrite, `${moved} runs in one write`);
        assert.ok(statements <= 12 * itemsPerWrite, `${statements} statements in one write`);
      }
      for (const { statements } of writes.filter(({ moved }) => moved === runsPerWrite))
        assert.ok(statements <= 30, `${statements} statements for ${runsPerWrite} runs`);
      const details = (await audited()).sort();
      const wholes = large.length + small.length;
      assert.deepEqual(details, [
        ...Array.from({ length: wholes }, () => "to next"),
        ...Array.from({ length: 2 * large.length }, () => `to next: ${runsPerWrite} runs, more follow`),
      ]);
    });

    it("is complete after further calls, if the server stops after any of the writes", async () => {
      const pipelines = [await build(many), await build(many)];
      let calls = 0;
      for (let left = await draftsLeft(); await isMember(); calls++) {
        await remove("next", stopping()).catch(({ message }: Error) => assert.equal(message, "the server stops"));
        const rest = await draftsLeft();
        assert.ok(rest < left || !(await isMember()), "each call hands over some, and the next begins where it ended");
        left = rest;
      }
      assert.ok(calls > 2, `${calls} calls`);
      const whole = { of: { [await idOf(leaver)]: await idOf("next") } };
      for (const id of pipelines) {
        assert.deepEqual(await ownersOf(id), { next: many });
        assert.deepEqual(JSON.parse((await getPipeline(store.db, id))?.run_as ?? ""), whole);
      }
    });

    it("stays with the user who took it over, if the rest is handed over to another", async () => {
      const id = await build(many);
      await assert.rejects(remove("next", stopping()), /the server stops/);
      assert.deepEqual(await ownersOf(id), { next: runsPerWrite, [leaver]: many - runsPerWrite });
      await remove("other");
      assert.deepEqual(await ownersOf(id), { next: runsPerWrite, other: many - runsPerWrite });
      const { run_as = "" } = (await getPipeline(store.db, id)) ?? {};
      assert.deepEqual(JSON.parse(run_as), { of: { [await idOf(leaver)]: await idOf("other") } });
    });

    it("includes work that starts during the handover, and the user stays if that never ends", async () => {
      const pipelines = [await build(many)];
      /** A store in which the leaver starts a pipeline whenever everything was handed over, this many times. */
      const busy = (times: number, runs: number) => {
        let started = 0;
        return through(async (work) => {
          const result = await store.write(work);
          if (started < times && (await isMember()) && (await draftsLeft()) === 0) {
            started++;
            pipelines.push(await build(runs));
          }
          return result;
        });
      };
      await refused(remove("next", busy(1000, runsPerWrite + 1)), "wrong_state", /faster than it can be handed over/);
      assert.equal(await isMember(), true);
      await remove("next", busy(2, many));
      assert.equal(await isMember(), false);
      assert.equal(await draftsLeft(), 0);
      for (const id of pipelines) assert.deepEqual(Object.keys(await ownersOf(id)), ["next"]);
    });

    it("leaves a task alone that somebody else takes over meanwhile", async () => {
      const { client } = await addPerson(server, `${leaver}-too`, { team: "main" });
      leaver = `${leaver}-too`;
      const body = { query: "exit 0", query_type: "SHELL", query_name: "t.sh", cron_expression: "@yearly" } as const;
      const tasks: string[] = [];
      for (let index = 0; index <= itemsPerWrite; index++)
        tasks.push((await client.call(routes.createJob, { body })).id);
      const taken = tasks[3] ?? "";
      const other = { all: await idOf("other") };
      let writes = 0;
      const busy = through(async (work) => {
        if (++writes === 2) await store.write((db) => setTaskRunAs(db, taken, JSON.stringify(other)));
        return store.write(work);
      });
      await remove("next", busy);
      const rows = await store.db
        .selectFrom("tasks")
        .select(["job_id", "run_as"])
        .where("job_id", "in", tasks)
        .execute();
      const whole = { of: { [await idOf(leaver)]: await idOf("next") } };
      for (const { job_id, run_as } of rows) assert.deepEqual(JSON.parse(run_as), job_id === taken ? other : whole);
      assert.equal(rows.length, tasks.length);
    });

    it("stays where it is, if the user may not leave or the new owner may not take it", async () => {
      const id = await build(many);
      await refused(remove("nobody-here"), "not_found");
      const viewer = await addPerson(server, `viewer-${counter}`, { team: "main", role: "viewer" });
      await refused(remove(viewer.username), "wrong_state", /may not run jobs/);
      assert.deepEqual(await ownersOf(id), { [leaver]: many });
      await remove("next");
    });
  });

describe("parts of work", () => {
  it("have limited numbers of runs and items, and each pipeline ends in one of them", () => {
    const runs = [1, runsPerWrite, many, 3, 5000, ...Array.from({ length: 120 }, () => 1)];
    const pipelines = runs.map((count, id) => ({ row: { id: String(id) }, runs: count, credentials: [] }));
    const rows = Array.from({ length: 120 }, () => ({}));
    const found = { whose: { userId: 1, teamId: 1 }, tasks: rows, schedules: rows, pipelines } as unknown as FoundWork;
    const parts = [...partsOf(found)];
    const ended = parts.filter(({ goesOn }) => !goesOn).flatMap((part) => part.pipelines);
    assert.deepEqual(ended, pipelines);
    const going = parts.filter(({ goesOn }) => goesOn).length;
    assert.equal(going, 2 + (5000 / runsPerWrite - 1));
    const size = ({ tasks, schedules, pipelines }: FoundWork) => tasks.length + schedules.length + pipelines.length;
    assert.ok(parts.every((part) => size(part) > 0 && size(part) <= itemsPerWrite));
    assert.equal(parts.flatMap(({ tasks }) => tasks).length, 120);
    assert.equal(parts.flatMap(({ schedules }) => schedules).length, 120);
  });
});
