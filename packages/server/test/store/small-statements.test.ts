/** Statements read and change a limited number of rows, however many there are. On both databases. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { deliveryStatuses, mostMembers, routes } from "@millrace/contract";
import { sql } from "kysely";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { insertDrafts } from "../../src/domain/pipelines/pipeline-drafts.ts";
import { noSettings } from "../../src/domain/pipelines/pipeline-settings.ts";
import { whyNotRepeatable } from "../../src/domain/pipelines/pipeline-sources.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Db, Store } from "../../src/store/drivers/store.ts";
import { insertDeliveries, listDeliveries, type NewDelivery } from "../../src/store/queries/events/deliveries.ts";
import { deleteReceiver, insertReceiver } from "../../src/store/queries/events/receivers.ts";
import { insertFile } from "../../src/store/queries/jobs/files.ts";
import { getShortJob, type ShortJob } from "../../src/store/queries/jobs/jobs.ts";
import { pipelinesOfSchedule } from "../../src/store/queries/pipelines/pipelines.ts";
import { datasetsMadeBy } from "../../src/store/queries/schedules/schedule-notices.ts";
import { runsOfTemplates } from "../../src/store/queries/schedules/schedule-scripts.ts";
import { blankPipeline, buildPipeline, builtKeys, now } from "../support/built-pipelines.ts";
import { countReads } from "../support/counted-reads.ts";
import { everyTurn } from "../support/every-turn.ts";
import type { InProcessServer } from "../support/in-process.ts";
import { databases, startOn } from "../support/on-database.ts";
import { addPerson, addTeam, refused } from "../support/people.ts";

const time = iso(now);

for (const kind of databases)
  describe(`a statement on ${kind}`, () => {
    let server: InProcessServer;
    let store: Store;
    before(async () => {
      server = await startOn(kind);
      store = server.store;
    });
    after(() => server.dispose());

    it("reads a page of deliveries by receiver and status, and deletes those of a receiver in batches", async () => {
      const [one, two] = await store.write(async (db) => [await receiver(db), await receiver(db)]);
      const rows = Array.from({ length: 1300 }, (_, index) =>
        delivery(index % 13 === 0 ? two : one, deliveryStatuses[index % 100 === 0 ? 2 : 1]),
      );
      await store.write((db) => insertDeliveries(db, rows));
      const newest = rows.toReversed();
      const list = async (filter: { receiverId?: number; status?: "failed"; before?: string }) => {
        const blank = { teamId: 1, id: undefined, receiverId: undefined, status: undefined, before: undefined };
        return (await listDeliveries(store.db, { ...blank, ...filter, limit: 10 })).map(({ id }) => id);
      };
      const expected = (matches: (row: NewDelivery) => boolean) =>
        newest
          .filter(matches)
          .slice(0, 10)
          .map(({ id }) => id);
      assert.deepEqual(
        await list({}),
        expected(() => true),
      );
      assert.deepEqual(
        await list({ status: "failed" }),
        expected(({ status }) => status === "failed"),
      );
      assert.deepEqual(
        await list({ receiverId: two }),
        expected(({ receiver_id }) => receiver_id === two),
      );
      const cursor = newest[700]?.id ?? "";
      const older = (row: NewDelivery) => row.id < cursor && row.receiver_id === one && row.status === "failed";
      assert.deepEqual(await list({ receiverId: one, status: "failed", before: cursor }), expected(older));
      await store.write(async (db) => {
        const counted = countReads(db);
        await deleteReceiver(counted.db, one);
        assert.equal(counted.statements(), 4, "three batches of deliveries, and the receiver");
      });
      assert.deepEqual((await list({})).length, 10);
      await store.write((db) => deleteReceiver(db, two));
      assert.deepEqual(await list({}), []);
    });

    it("reads runs of a few templates, and stops where an answer has enough", async () => {
      const templates: string[] = [];
      for (let index = 0; index < 9; index++) {
        const rest = { is_template: 1, status: "PENDING" } as const;
        templates.push((await buildPipeline(store, { a: [], b: ["a"] }, { status: "PENDING", rest })).row.id);
      }
      const counted = countReads(store.db);
      const all = await runsOfTemplates(counted.db, templates, 100);
      assert.deepEqual(
        [...all.values()].map((runs) => runs.length),
        templates.map(() => 2),
      );
      assert.equal(counted.statements(), 6, "two for each four templates");
      assert.equal((await runsOfTemplates(store.db, templates, 7)).size, 3);
    });

    it("finds what a pipeline makes by few jobs at a time", async () => {
      const shape = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`run-${index}`, []]));
      const { row } = await buildPipeline(store, shape, { status: "PAUSED" });
      const counted = countReads(store.db);
      assert.equal((await datasetsMadeBy(counted.db, row.id)).size, 0);
      assert.equal(counted.statements(), 4, "the runs, and three groups of jobs");
    });

    it("about the files of many jobs, or their drafts, is one of many with pauses between them", async () => {
      const names = Array.from({ length: 300 }, (_, index) => `with-files-${index}`);
      const specs = Object.fromEntries(names.map((name) => [name, { files: ["4711"] }]));
      const turnsDuring = async (work: () => Promise<unknown>) => {
        let turns = 0;
        const stop = everyTurn(() => turns++);
        await work();
        stop();
        return turns;
      };
      const shape = Object.fromEntries(names.map((name) => [name, []]));
      const jobs: ShortJob[] = [];
      const built = await buildPipeline(store, shape, { status: "PAUSED", specs });
      for (const id of Object.values(built.originals)) jobs.push((await getShortJob(store.db, id)) as ShortJob);
      const counted = countReads(store.db);
      assert.match(
        (await whyNotRepeatable(counted.db, jobs)) ?? "",
        /a file of the job with-files-0 .* no longer exists/,
      );
      await store.write((db) => insertFile(db, { ...file, id: 4711 }));
      let why: string | undefined = "";
      const turns = await turnsDuring(async () => {
        why = await whyNotRepeatable(store.db, jobs);
      });
      assert.deepEqual([why, turns >= 14], [undefined, true]);
      const drafted = await turnsDuring(() =>
        store.write((db) =>
          insertDrafts({ db, now }, jobs, {
            ...{ keys: builtKeys, pipelineId: built.row.id, settings: noSettings, variables: {}, moment: undefined },
            tokenId: null,
          }),
        ),
      );
      assert.ok(drafted >= 3, `${drafted} turns`);
    });

    it("reads pipelines of a schedule in pages, without their datasets", async () => {
      const datasets = JSON.stringify(["x".repeat(10_000)]);
      const rows = Array.from({ length: 600 }, (_, index) => ({
        ...blankPipeline,
        ...{ id: newJobId(now), name: `of-${index}`, status: "RUNNING" as const, open_runs: 0, datasets },
        schedule_id: 77,
      }));
      await store.write(async (db) => {
        for (let at = 0; at < rows.length; at += 50)
          await db
            .insertInto("pipelines")
            .values(rows.slice(at, at + 50))
            .execute();
      });
      const counted = countReads(store.db);
      const found = await pipelinesOfSchedule(counted.db, 77, "RUNNING");
      assert.deepEqual(
        found.map(({ id }) => id),
        rows.map(({ id }) => id),
      );
      assert.deepEqual([counted.statements(), counted.bytes() < 600 * 100], [2, true]);
      await store.write((db) => db.deleteFrom("pipelines").where("schedule_id", "=", 77).execute());
    });

    it("lists the members of a team, who have a limit", async () => {
      const team = `crowd-${kind.toLowerCase()}`;
      await addTeam(server, team);
      const { username } = await addPerson(server, `late-${kind.toLowerCase()}`);
      await store.write(async (db) => {
        const id = sql`(select id from teams where name = ${team})`;
        const numbers = sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers
          where n < cast(${mostMembers} as integer))`;
        await sql`insert into users (username, first_name, last_name, created_at)
          ${numbers} select ${`${team}-`} || cast(n as text), '', '', ${time} from numbers`.execute(db);
        await sql`insert into memberships (team_id, user_id, role)
          select ${id}, id, 'viewer' from users where username like ${`${team}-%`}`.execute(db);
      });
      const admin = await server.client();
      const params = { team_name: team };
      const add = () => admin.call(routes.addMember, { params, body: { username, role: "viewer" } });
      await refused(add(), "wrong_state", /has 5000 members, which is the maximum/);
      const listed = await admin.call(routes.listMembers, { params });
      assert.ok(listed.length >= mostMembers);
      for (const { username: gone } of listed.filter(({ role }) => role === "viewer").slice(0, 2))
        await admin.call(routes.removeMember, { params: { ...params, username: gone }, query: {} });
      await add();
    });
  });

const file = {
  team_id: 1,
  user_id: 1,
  filename: "f",
  size: 1,
  sha256: "",
  blob: "b",
  created_at: time,
  attached_at: time,
};

const receiver = (db: Db) =>
  insertReceiver(db, {
    ...{ team_id: 1, kind: "webhook", address: "http://localhost:9/", secret: "", format: "json", method: "POST" },
    ...{ verify_tls: 1, events: "[]", job_statuses: "[]", wanted: " ", failures: 0, rests_until: null },
    ...{ disabled_at: time, disabled_reason: null, dropped: 0, created_at: time, updated_at: time },
  });

const delivery = (receiver_id: number, status: NewDelivery["status"] = "delivered"): NewDelivery => ({
  ...{ id: newJobId(now), team_id: 1, receiver_id, kind: "JOB", event: "JOB", title: "t", body: "b", status },
  ...{ attempts: 1, next_at: null, response_status: 204, error: null, created_at: time, attempted_at: time },
  finished_at: time,
});
