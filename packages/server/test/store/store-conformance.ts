/** Conformance suite for stores: the same tests run on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiError, type JobStatus, jobStatuses } from "@millrace/contract";
import type { KyselyPlugin } from "kysely";
import { mayQueue, roomToRun } from "../../src/domain/access/quotas.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import {
  nextHead,
  replaceValue,
  shareKeys,
  takeKeys,
  valuesWithHead,
} from "../../src/store/opening/encrypted-values.ts";
import {
  getVersion,
  insertVersion,
  markRemoved,
  markVersionsRemoved,
  sizedVersionsOf,
  textsOf,
  versionIdOf,
} from "../../src/store/queries/datasets/dataset-versions.ts";
import {
  countFile,
  deleteExportsBefore,
  type ExportRow,
  findExport,
  insertExport,
  nextOpenExport,
  teamsWithOpenExports,
} from "../../src/store/queries/datasets/exports.ts";
import { stepsFrom } from "../../src/store/queries/datasets/lineage.ts";
import {
  busySlots,
  closeAttempt,
  openAttempt,
  openAttempts,
  shareGrowth,
} from "../../src/store/queries/jobs/attempts.ts";
import {
  defaultCredentialsOf,
  deleteCredentials,
  findOwned,
  insertCredentials,
  listOwned,
  setDefaultCredentials,
} from "../../src/store/queries/jobs/credentials.ts";
import { deleteUnusedFiles, insertFile, markAttached } from "../../src/store/queries/jobs/files.ts";
import { takeKey } from "../../src/store/queries/jobs/idempotency-keys.ts";
import { type JobFilter, listJobs, lookAtMost } from "../../src/store/queries/jobs/job-lists.ts";
import { moveJob } from "../../src/store/queries/jobs/job-moves.ts";
import { insertTags } from "../../src/store/queries/jobs/job-tags.ts";
import { findJob, getJob, insertJob, jobsWithOldLogs, markLogsRemoved } from "../../src/store/queries/jobs/jobs.ts";
import {
  countPassedOver,
  dequeue,
  enqueue,
  headOfQueue,
  headOfQueueWithout,
} from "../../src/store/queries/jobs/queue.ts";
import { insertAudit, listAudit } from "../../src/store/queries/people/audit.ts";
import { answerDeviceLogin, insertDeviceLogin, useDeviceLogin } from "../../src/store/queries/people/device-logins.ts";
import {
  findOpenInvitation,
  insertInvitation,
  revokeInvitation,
  useInvitation,
} from "../../src/store/queries/people/invitations.ts";
import {
  deleteMembership,
  hasOtherAdmin,
  insertMembership,
  membersOf,
  setRole,
} from "../../src/store/queries/people/memberships.ts";
import { insertSignInLink, useSignInLink } from "../../src/store/queries/people/sessions.ts";
import { usageOf } from "../../src/store/queries/people/team-usage.ts";
import { findTeam, insertTeam, updateTeam } from "../../src/store/queries/people/teams.ts";
import { findLiveToken, insertToken, revokeToken } from "../../src/store/queries/people/tokens.ts";
import { findUser, hasOtherAdministrator, insertUser, updateUser } from "../../src/store/queries/people/users.ts";
import { advanceTask, dueTasks, insertTask } from "../../src/store/queries/schedules/tasks.ts";
import { putVersion } from "../support/datasets.ts";
import { listConformance } from "./list-conformance.ts";
import { outboxConformance } from "./outbox-conformance.ts";
import { pipelineConformance } from "./pipeline-conformance.ts";
import { registerConformance } from "./register-conformance.ts";
import { retryConformance } from "./retry-conformance.ts";
import { scheduleConformance } from "./schedule-conformance.ts";
import { textConformance } from "./text-conformance.ts";
import { versionConformance } from "./version-conformance.ts";

export interface StoreFixture {
  /** Creates a store; called twice with the same name, it opens the same data again. */
  open(name: string): Promise<Store>;
  stop(): Promise<void>;
}

const now = Date.UTC(2030, 0, 1);

export function storeConformance(kind: string, start: () => Promise<StoreFixture>): void {
  describe(`the ${kind} store`, () => {
    let fixture: StoreFixture;
    let store: Store;
    before(async () => {
      fixture = await start();
      store = await fixture.open("main");
      await prepareStore(store, now);
      await prepareLocalCluster(store, 4, "none");
    });
    after(async () => {
      await store.close();
      await fixture.stop();
    });

    const job = async (status: JobStatus = "CREATED", rest: { name?: string } = {}) => {
      const id = newJobId(now);
      await store.write((db) => insertJob(db, jobRow(id, status, rest)));
      return id;
    };

    it("migrates safely when several programs open it at once, and only once", async () => {
      const stores = await Promise.all([1, 2, 3].map(() => fixture.open("race")));
      await Promise.all(stores.map((s) => prepareStore(s, now)));
      const users = await stores[0]?.db.selectFrom("users").selectAll().execute();
      assert.deepEqual(
        users?.map((u) => u.username),
        ["admin"],
      );
      await Promise.all(stores.map((s) => s.close()));
    });

    it("refuses to be opened by a program older than itself", async () => {
      const newer = await fixture.open("newer");
      await newer.write((db) =>
        db
          .insertInto("schema_version" as "users")
          .values({ version: 999 } as never)
          .execute(),
      );
      await newer.close();
      await assert.rejects(fixture.open("newer"), /written by a newer Millrace/);
    });

    it("rolls back a failed write, without affecting concurrent ones", async () => {
      const kept = newJobId(now);
      const undone = newJobId(now);
      const results = await Promise.allSettled([
        store.write((db) => insertJob(db, jobRow(kept, "CREATED"))),
        store.write(async (db) => {
          await insertJob(db, jobRow(undone, "CREATED"));
          throw new ApiError("invalid", "on purpose");
        }),
      ]);
      assert.deepEqual(
        results.map((r) => r.status),
        ["fulfilled", "rejected"],
      );
      assert.ok(await getJob(store.db, kept));
      assert.equal(await getJob(store.db, undone), undefined);
    });

    it("changes the state of a job only from the named states, and only for the current attempt", async () => {
      const id = await job("QUEUED");
      const move = (from: JobStatus[], to: "INIT", fence?: number) =>
        store.write((db) => moveJob(db, { id, from, to, ...(fence === undefined ? {} : { fence }) }));
      assert.equal(await move(["CREATED"], "INIT"), false);
      assert.equal(await move(["QUEUED"], "INIT", 7), false);
      assert.equal(await move(["QUEUED"], "INIT", 0), true);
      assert.equal((await getJob(store.db, id))?.status, "INIT");
    });

    it("has no state change that the contract does not allow", async () => {
      const id = await job("COMPLETE");
      await assert.rejects(
        store.write((db) => moveJob(db, { id, from: ["COMPLETE"], to: "RUNNING" })),
        /a job cannot change from COMPLETE to RUNNING/,
      );
    });

    it("lets exactly one of many callers take a job off the queue", async () => {
      const id = await job();
      await store.write((db) =>
        enqueue(db, { job_id: id, team_id: 1, cluster_id: 1, priority: 5, slots: 1, passed_over: 0 }),
      );
      const takers = await Promise.all([...Array(8)].map(() => store.write((db) => dequeue(db, id))));
      assert.equal(takers.filter(Boolean).length, 1);
    });

    it("queues by priority, then by age", async () => {
      const ids = [await job(), await job(), await job()];
      await store.write(async (db) => {
        for (const [index, id] of ids.entries()) {
          await enqueue(db, {
            job_id: id,
            team_id: 1,
            cluster_id: 9,
            priority: index === 2 ? 0 : 5,
            slots: 1,
            passed_over: 0,
          });
        }
        await countPassedOver(db, [ids[0] ?? ""]);
      });
      const head = await headOfQueue(store.db, 9, 10);
      assert.deepEqual(
        head.map((row) => row.job_id),
        [ids[2], ids[0], ids[1]],
      );
      assert.deepEqual(
        head.map((row) => row.passed_over),
        [0, 1, 0],
      );
    });

    it("lets no more jobs of a team wait than its quota, however many are created at once", async () => {
      const team = await addTeam(store, "crowded");
      const come = () =>
        store.write(async (db) => {
          if (!(await mayQueue(db, team, { running: 0, queued: 7 }))) return false;
          const waits = { team_id: team, cluster_id: 7, priority: 5, slots: 1, passed_over: 0 };
          await enqueue(db, { job_id: newJobId(now), ...waits });
          return true;
        });
      const taken = await Promise.all([...Array(30)].map(come));
      assert.equal(taken.filter(Boolean).length, 7);
      await store.write((db) => db.updateTable("teams").set({ max_queued: 8 }).where("id", "=", team).execute());
      assert.deepEqual([await come(), await come()], [true, false], "its own quota wins");
      await store.write((db) => db.deleteFrom("queue").where("team_id", "=", team).execute());
    });

    it("finds the head of the queue without teams that are at their limit of running jobs", async () => {
      const [full, other, third] = [await addTeam(store, "full"), await addTeam(store, "o"), await addTeam(store, "t")];
      const waits = async (team_id: number, priority: number) => {
        const job_id = newJobId(now);
        await store.write((db) => enqueue(db, { job_id, team_id, cluster_id: 6, priority, slots: 1, passed_over: 0 }));
        return job_id;
      };
      await waits(full, 0);
      const [late, first, second] = [await waits(other, 5), await waits(third, 1), await waits(other, 1)];
      await waits(full, 0);
      const head = async (limit: number) =>
        (await headOfQueueWithout(store.db, 6, limit, [full])).map(({ job_id }) => job_id);
      assert.deepEqual(await head(10), [first, second, late]);
      assert.deepEqual(await head(2), [first, second]);
    });

    it("counts the running jobs of teams against their quotas, including jobs that were just taken", async () => {
      const team = await addTeam(store, "running");
      const held = { cluster_id: 5, slots: 2, server_id: "s2", boot_id: "b", created_at: iso(now), signalled_at: null };
      const id = await job("INIT");
      await store.write((db) => openAttempt(db, { job_id: id, team_id: team, attempt: 1, ...held }));
      const room = await roomToRun(store.db, { running: 2, queued: 0 });
      assert.deepEqual([room.full, room.take(team), room.take(team), room.take(999)], [[], true, false, true]);
      assert.deepEqual((await roomToRun(store.db, { running: 1, queued: 0 })).full, [team]);
      await store.write((db) => db.updateTable("teams").set({ max_running: 0 }).where("id", "=", team).execute());
      assert.deepEqual((await roomToRun(store.db, { running: 1, queued: 0 })).full, []);
      await store.write((db) => closeAttempt(db, id, 1));
    });

    it("finds jobs whose logs are old, oldest end first, each until it is marked", async () => {
      const ends = [3, 1, 2].map((days) => ({ id: newJobId(now), finished_at: iso(now - days * 86_400_000) }));
      const [oldest, youngest, middle] = ends.map(({ id }) => id);
      await store.write(async (db) => {
        for (const { id, finished_at } of ends) await insertJob(db, { ...jobRow(id, "COMPLETE"), finished_at });
      });
      const start = { finished_at: "", id: "" };
      const old = async (after = start, limit = 10) => jobsWithOldLogs(store.db, iso(now - 86_400_000), after, limit);
      assert.deepEqual(
        (await old()).map(({ id }) => id),
        [oldest, middle],
      );
      const [first] = await old(start, 1);
      assert.deepEqual(
        (await old(first)).map(({ id }) => id),
        [middle],
      );
      await store.write((db) => markLogsRemoved(db, [oldest ?? ""], iso(now)));
      assert.deepEqual(
        (await old()).map(({ id }) => id),
        [middle],
      );
      assert.ok(youngest);
    });

    it("counts the slots of open attempts, and closes each once", async () => {
      const id = await job("INIT");
      const attempt = {
        job_id: id,
        team_id: 1,
        attempt: 1,
        cluster_id: 8,
        slots: 3,
        server_id: "s",
        boot_id: "b",
        created_at: iso(now),
        signalled_at: null,
      };
      await store.write((db) => openAttempt(db, attempt));
      assert.equal(await busySlots(store.db, 8), 3);
      assert.deepEqual(
        (await openAttempts(store.db, "s")).map((a) => a.job_id),
        [id],
      );
      assert.equal(await store.write((db) => closeAttempt(db, id, 2)), false);
      assert.equal(await store.write((db) => closeAttempt(db, id, 1)), true);
      assert.equal(await store.write((db) => closeAttempt(db, id, 1)), false);
      assert.equal(await busySlots(store.db, 8), 0);
    });

    it("lists jobs newest first, by state, name and user, a page at a time", async () => {
      const team = await addTeam(store, "listed");
      const ids: string[] = [];
      for (const [index, status] of jobStatuses.entries()) {
        const id = newJobId(now);
        ids.unshift(id);
        await store.write((db) =>
          insertJob(db, { ...jobRow(id, status, { name: index % 2 ? "odd" : "even" }), team_id: team }),
        );
      }
      const list = async (rest: object) =>
        (await listJobs(store.db, { teamId: team, limit: 100, ...rest })).rows.map((row) => row.id);
      assert.deepEqual(await list({}), ids);
      assert.deepEqual(await list({ limit: 2 }), ids.slice(0, 2));
      assert.deepEqual(await list({ limit: 2, before: ids[1] }), ids.slice(2, 4));
      const running = (await listJobs(store.db, { teamId: team, limit: 9, statuses: ["RUNNING", "FAILED"] })).rows.map(
        (r) => r.status,
      );
      assert.deepEqual(running.sort(), ["FAILED", "RUNNING"]);
      assert.equal((await list({ name: "odd" })).length, Math.floor(jobStatuses.length / 2));
      assert.deepEqual(await list({ username: "nobody" }), []);
      assert.deepEqual(await list({ statuses: [...jobStatuses], name: "odd", limit: 1 }), [
        ids.find((_, i) => (ids.length - 1 - i) % 2 === 1),
      ]);
      assert.equal((await findJob(store.db, 1, ids[0] ?? ""))?.id, undefined);
    });

    it("finds jobs by text in any letter case, by all of several tags, cluster, parent and time, together", async () => {
      const team = await addTeam(store, "searched");
      const ids: string[] = [];
      const add = async (name: string, query: string, tags: string[], rest: object = {}) => {
        const id = newJobId(now);
        ids.push(id);
        const spec = JSON.stringify({ tags, query });
        await store.write(async (db) => {
          await insertJob(db, { ...jobRow(id, "COMPLETE", { name }), team_id: team, spec, ...rest });
          await insertTags(db, team, id, tags);
        });
        return id;
      };
      const load = await add("Load.py", "read('50%_a.csv')", ["nightly", "eu/west"]);
      const train = await add("train.py", "ÜBER models\nimport torch", ["nightly"], { status: "FAILED" });
      const child = await add("load.py", "select *", ["eu/west"], { parent_job_id: load });
      const find = async (filter: Partial<JobFilter>) =>
        (await listJobs(store.db, { teamId: team, limit: 10, ...filter })).rows.map(({ id }) => id);
      assert.deepEqual(await find({ text: "LOAD" }), [child, load]);
      assert.deepEqual(await find({ text: "über MODELS" }), [train]);
      assert.deepEqual(await find({ text: "Import Torch" }), [train]);
      assert.deepEqual(await find({ text: "50%_A" }), [load], "wildcards mean themselves");
      assert.deepEqual(await find({ text: "5_%" }), []);
      assert.deepEqual(await find({ text: "'" }), [load]);
      assert.deepEqual(await find({ tags: ["nightly"] }), [train, load]);
      assert.deepEqual(await find({ tags: ["nightly", "eu/west"] }), [load]);
      assert.deepEqual(await find({ tags: ["nightly", "none"] }), []);
      assert.deepEqual(await find({ tags: ["nightly"], statuses: ["FAILED"] }), [train]);
      assert.deepEqual(await find({ tags: ["nightly"], text: "train", username: "admin", clusterId: 1 }), [train]);
      assert.deepEqual(await find({ clusterId: 2 }), []);
      assert.deepEqual(await find({ parentId: load }), [child]);
      assert.deepEqual(await find({ parentId: load, name: "train.py" }), []);
      assert.deepEqual(await find({ from: train }), [child, train]);
      assert.deepEqual(await find({ from: train, before: child, statuses: ["FAILED", "COMPLETE"] }), [train]);
      assert.deepEqual(await find({ tags: ["nightly"], before: train }), [load]);
    });

    it("ends a search after a number of jobs and returns a cursor", async () => {
      const team = await addTeam(store, "many");
      const ids = [...Array(lookAtMost + 300)].map(() => newJobId(now));
      await store.write(async (db) => {
        for (const [index, id] of ids.entries()) {
          const spec = JSON.stringify({ query: index % 10_000 === 0 ? "needle" : "hay" });
          await insertJob(db, { ...jobRow(id, "COMPLETE"), team_id: team, spec });
        }
      });
      const found: string[] = [];
      const pages: number[] = [];
      for (let before: string | undefined, more = true; more; ) {
        const { rows, next } = await listJobs(store.db, { teamId: team, limit: 50, text: "NEEDLE", before });
        found.push(...rows.map(({ id }) => id));
        pages.push(rows.length);
        before = next;
        more = next !== undefined;
      }
      assert.deepEqual(pages, [2, 1]);
      assert.deepEqual(found, [ids[20_000], ids[10_000], ids[0]]);
    });

    it("stores text unchanged: Unicode without NUL, quotes, a megabyte", async () => {
      const spec = JSON.stringify({ query: `${"x".repeat(1_000_000)}'"\\ \u{1f600}\n` });
      const id = newJobId(now);
      await store.write((db) => insertJob(db, { ...jobRow(id, "CREATED"), spec }));
      assert.equal((await getJob(store.db, id))?.spec, spec);
    });

    it("gives a tick to one caller only", async () => {
      const id = await job("TASK");
      await store.write((db) => insertTask(db, { id, team_id: 1 }, iso(now)));
      const firstPage = { after: undefined, limit: 10 };
      assert.equal((await dueTasks(store.db, 1, iso(now - 1), firstPage)).length, 0);
      assert.equal((await dueTasks(store.db, 1, iso(now), firstPage)).length, 1);
      const takers = await Promise.all(
        [1, 2, 3].map(() => store.write((db) => advanceTask(db, { jobId: id, from: iso(now), to: iso(now + 60_000) }))),
      );
      assert.equal(takers.filter(Boolean).length, 1);
      assert.equal((await dueTasks(store.db, 1, iso(now), firstPage)).length, 0);
    });

    it("accepts an idempotency key once", async () => {
      const key = { team_id: 1, user_id: 1, key: "k" };
      assert.equal(await store.write((db) => takeKey(db, key, "a")), true);
      assert.equal(await store.write((db) => takeKey(db, key, "b")), false);
      assert.equal(await store.write((db) => takeKey(db, { ...key, user_id: 2 }, "b")), true);
    });

    it("finds a token until it expires or is revoked", async () => {
      const token = {
        user_id: 1,
        name: "t",
        scopes: "[]",
        team_ids: null,
        created_at: iso(now),
        last_used_at: null,
        revoked_at: null,
      };
      await store.write(async (db) => {
        await insertToken(db, { ...token, hash: "short", expires_at: iso(now + 1000) });
        await insertToken(db, { ...token, hash: "long", expires_at: null });
      });
      assert.equal((await findLiveToken(store.db, "short", iso(now)))[0]?.username, "admin");
      assert.deepEqual(await findLiveToken(store.db, "short", iso(now + 1000)), []);
      const [long] = await findLiveToken(store.db, "long", iso(now));
      await store.write((db) => revokeToken(db, long?.id ?? 0, iso(now)));
      assert.deepEqual(await findLiveToken(store.db, "long", iso(now)), []);
    });

    it("accepts a sign-in link and a device login once", async () => {
      await store.write((db) => insertSignInLink(db, "link", 1, iso(now + 1000)));
      const links = await Promise.all([1, 2].map(() => store.write((db) => useSignInLink(db, "link", iso(now)))));
      assert.equal(links.filter(Boolean).length, 1);
      await store.write((db) => insertDeviceLogin(db, deviceLogin));
      const approve = {
        status: "approved",
        user_id: 1,
        granted_scopes: "[]",
        granted_team_ids: null,
        granted_until: null,
        granted_by: null,
      } as const;
      assert.equal(await store.write((db) => useDeviceLogin(db, "device", iso(now))), undefined);
      assert.equal(await store.write((db) => answerDeviceLogin(db, "CODE", iso(now), approve)), true);
      assert.equal(await store.write((db) => answerDeviceLogin(db, "CODE", iso(now), approve)), false);
      assert.ok(await store.write((db) => useDeviceLogin(db, "device", iso(now))));
      assert.equal(await store.write((db) => useDeviceLogin(db, "device", iso(now))), undefined);
    });

    it("finds encrypted values by their key, and replaces each only if it has not changed since it was read", async () => {
      const place = { table: "jobs", column: "secrets" } as const;
      const key = (letter: string) => `enc1.${letter.repeat(12)}.`;
      const ids: string[] = [];
      for (const value of [`${key("b")}1`, `${key("a")}1`, `${key("b")}2`, "", "PLAIN=text of an older version"]) {
        const id = newJobId(now);
        ids.push(id);
        await store.write((db) => insertJob(db, { ...jobRow(id, "COMPLETE"), secrets: value }));
      }
      const heads: string[] = [];
      for (
        let head = await nextHead(store.db, place, "");
        head !== null;
        head = await nextHead(store.db, place, head)
      ) {
        heads.push(head);
      }
      assert.deepEqual(
        heads.toSorted(),
        ["PLAIN=text of an o", key("a"), key("b")].map((h) => h.slice(0, 18)),
      );
      const found = await valuesWithHead(store.db, place, key("b"), { after: undefined, limit: 10 });
      assert.deepEqual(
        found.map(({ id, value }) => [id, value]),
        [
          [ids[0], `${key("b")}1`],
          [ids[2], `${key("b")}2`],
        ],
      );
      assert.deepEqual((await valuesWithHead(store.db, place, key("b"), { after: ids[0] ?? "", limit: 10 })).length, 1);
      const [first] = found;
      assert.ok(first);
      const takers = await Promise.all(
        [1, 2].map((n) => store.write((db) => replaceValue(db, place, first, `new ${n}`))),
      );
      assert.deepEqual(takers.filter(Boolean).length, 1);
      await store.write((db) => db.deleteFrom("jobs").where("id", "in", ids).execute());
    });

    it("gives shared access to the keys to many, and exclusive access to one", async () => {
      let shared = 0;
      const share = () =>
        store.write(async (db) => {
          await shareKeys(db);
          shared++;
        });
      const order: number[] = [];
      const take = () =>
        store.write(async (db) => {
          await takeKeys(db);
          const before = shared;
          await db.selectFrom("users").select("id").execute();
          order.push(shared - before);
        });
      await Promise.all([share(), take(), share(), take(), share()]);
      assert.deepEqual([shared, order], [3, [0, 0]]);
    });

    it("keeps credentials of teams and of users apart, with unique names", async () => {
      const [team, user] = [
        { team_id: 1, user_id: null },
        { team_id: null, user_id: 1 },
      ] as const;
      const insert = (owner: typeof team | typeof user) =>
        store.write((db) => insertCredentials(db, owner, "same", iso(now)));
      assert.deepEqual([await insert(team), await insert(user), await insert(team)], [true, true, false]);
      const row = await findOwned(store.db, team, "same");
      assert.notEqual(row?.id, (await findOwned(store.db, user, "same"))?.id);
      await store.write((db) => setDefaultCredentials(db, 1, row?.id ?? 0));
      assert.equal(await defaultCredentialsOf(store.db, 1), "same");
      await store.write((db) => deleteCredentials(db, row?.id ?? 0));
      assert.equal(await defaultCredentialsOf(store.db, 1), undefined);
      assert.deepEqual([(await listOwned(store.db, team)).length, (await listOwned(store.db, user)).length], [0, 1]);
    });

    it("drops cached rows and continues", async () => {
      await store.compact();
      assert.ok(await findUser(store.db, "admin"));
    });

    it("never loses the last administrator, nor the last admin of a team, to two who demote each other", async () => {
      const [one, two] = [await addUser(store, "boss-1", 1), await addUser(store, "boss-2", 1)];
      await store.write((db) => updateUser(db, 1, { disabled_at: iso(now) }));
      const demote = (id: number) =>
        store.write(async (db) => (await hasOtherAdministrator(db, id)) && (await updateUser(db, id, { is_admin: 0 })));
      const demoted = await Promise.all([demote(one), demote(two)]);
      assert.equal(demoted.filter((result) => result !== false).length, 1);
      await store.write((db) => updateUser(db, 1, { disabled_at: null }));

      const team = await addTeam(store, "led");
      await store.write(async (db) => {
        for (const id of [one, two]) assert.equal(await insertMembership(db, team, id, "admin"), true);
        assert.equal(await insertMembership(db, team, one, "viewer"), false);
      });
      const leave = (id: number) =>
        store.write(async (db) => (await hasOtherAdmin(db, team, id)) && (await deleteMembership(db, team, id)));
      const left = await Promise.all([leave(one), leave(two)]);
      assert.equal(left.filter((result) => result !== false).length, 1);
      assert.equal((await membersOf(store.db, team)).length, 1);
    });

    it("gives a name to one user or team only, however many requests there are at once", async () => {
      const made = await Promise.all(
        [1, 2, 3].map(() => store.write((db) => insertTeam(db, { name: "wanted", created_at: iso(now) }))),
      );
      assert.equal(made.filter((id) => id !== undefined).length, 1);
      const teams = [await addTeam(store, "old-1"), await addTeam(store, "old-2")];
      const rename = (id: number) =>
        store.write(async (db) => {
          if (await findTeam(db, "new-name")) return false;
          await updateTeam(db, id, { name: "new-name" });
          return true;
        });
      const renamed = await Promise.all(teams.map(rename));
      assert.deepEqual(renamed.sort(), [false, true]);
    });

    it("lets one person use an invitation, while its creator may invite", async () => {
      const team = await addTeam(store, "inviting");
      const host = await addUser(store, "host");
      await store.write((db) => insertMembership(db, team, host, "admin"));
      const row = { team_id: team, role: "viewer", email: "", created_by: host, created_at: iso(now) } as const;
      const expires_at = iso(now + 1000);
      const id = await store.write((db) => insertInvitation(db, { ...row, hash: "invitation", expires_at }));
      const find = (at = now) => findOpenInvitation(store.db, "invitation", iso(at));
      assert.equal((await find())?.team_name, "inviting");
      assert.equal(await find(now + 1000), undefined);
      await store.write((db) => setRole(db, team, host, "editor"));
      assert.equal(await find(), undefined);
      await store.write((db) => setRole(db, team, host, "admin"));
      const used = await Promise.all([1, 2].map(() => store.write((db) => useInvitation(db, id, 1, iso(now)))));
      assert.deepEqual(used.sort(), [false, true]);
      assert.equal(await find(), undefined);
      assert.equal(await store.write((db) => revokeInvitation(db, team, id, iso(now))), false);
    });

    it("reads the audit newest first, by team, user and action", async () => {
      const team = await addTeam(store, "audited");
      const entry = { at: iso(now), user_id: 1, username: "admin", via: "v", address: "a", target: "t", detail: "" };
      await store.write(async (db) => {
        for (const action of ["user.create", "user.update", "job.create"])
          await insertAudit(db, { ...entry, action, team_id: team });
        await insertAudit(db, { ...entry, action: "user.create", username: "other", team_id: null });
      });
      const actions = async (filter: object) =>
        (await listAudit(store.db, { teamId: team, limit: 10, ...filter })).map(({ action }) => action);
      assert.deepEqual(await actions({}), ["job.create", "user.update", "user.create"]);
      assert.deepEqual(await actions({ action: "user" }), ["user.update", "user.create"]);
      assert.deepEqual(await actions({ limit: 1 }), ["job.create"]);
      const [newest] = await listAudit(store.db, { teamId: team, limit: 1 });
      assert.deepEqual(await actions({ before: newest?.id }), ["user.update", "user.create"]);
      assert.equal(newest?.team_name, "audited");
      assert.equal((await listAudit(store.db, { username: "other", limit: 10 })).length, 1);
    });

    it("recognises a renamed dataset by its uuid, and a recreated one by its name", async () => {
      const versions = () =>
        store.db.selectFrom("datasets").select(["name", "uuid"]).where("team_id", "=", 1).execute();
      await putVersion(store, "old-name", { uuid: "v1", dataset: dataset("d1") });
      await putVersion(store, "new-name", { uuid: "v1", dataset: dataset("d1") });
      assert.deepEqual(await versions(), [{ name: "new-name", uuid: "d1" }]);
      await putVersion(store, "new-name", { uuid: "v2", version: "1.0.1", dataset: dataset("d2") });
      assert.deepEqual(await versions(), [{ name: "new-name", uuid: "d2" }]);
    });

    const versionOf = async (uuid: string) => getVersion(store.db, (await versionIdOf(store.db, 1, uuid)) ?? 0);

    it("assigns a version number once, and removes a version once", async () => {
      await putVersion(store, "numbered", { uuid: "n1" });
      const row = await versionOf("n1");
      assert.ok(row);
      const { id, ...rest } = row;
      await assert.rejects(store.write((db) => insertVersion(db, { ...rest, uuid: "n2" })));
      const removals = await Promise.all(
        [1, 2].map(() => store.write((db) => markVersionsRemoved(db, [id], iso(now)))),
      );
      assert.deepEqual(removals.sort(), [0, 1]);
      assert.equal((await versionOf("n1"))?.status, 8);
    });

    it("counts each file of an export once, whoever wrote it", async () => {
      await putVersion(store, "exported", { uuid: "e1" });
      const version_id = (await versionIdOf(store.db, 1, "e1")) ?? 0;
      const row = { id: "export", team_id: 1, version_id, status: "pending", num_files: 2, files_done: 0 } as const;
      await store.write((db) => insertExport(db, { ...row, error: null, created_at: iso(now) }));
      for (const [status, files_done] of [
        ["running", 1],
        ["complete", 2],
      ] as const) {
        const open = (await nextOpenExport(store.db, 1, "")) as ExportRow;
        const counted = await Promise.all([1, 2].map(() => store.write((db) => countFile(db, open, 100))));
        assert.deepEqual(counted.sort(), [false, true]);
        const now = await findExport(store.db, "export");
        assert.deepEqual([now?.status, now?.files_done, now?.bytes], [status, files_done, 100 * files_done]);
        assert.equal((await usageOf(store.db, 1)).exports, 100 * files_done);
      }
      assert.deepEqual(await teamsWithOpenExports(store.db), []);
      assert.deepEqual(await store.write((db) => deleteExportsBefore(db, iso(now + 1), 10)), ["export"]);
      assert.equal((await usageOf(store.db, 1)).exports, 0);
    });

    it("reports the size of a version's large fields without reading them", async () => {
      const large = { schema: "{}", feature_schema: "{}", query_script: "\u00fc", sources: "s", preview: null };
      await putVersion(store, "sized", { uuid: "s1", ...large });
      const { id, dataset_id } = (await versionOf("s1")) ?? { id: 0, dataset_id: 0 };
      const [sized] = await sizedVersionsOf(store.db, dataset_id, false);
      assert.deepEqual([sized?.schema_bytes, sized?.text_bytes], [4, 3]);
      assert.equal((await textsOf(store.db, [id])).get(id)?.query_script, "\u00fc");
    });

    it("returns the exports of a team in rotation", async () => {
      await putVersion(store, "in-turn", { uuid: "e2" });
      const version_id = (await versionIdOf(store.db, 1, "e2")) ?? 0;
      const row = { team_id: 1, version_id, num_files: 2, files_done: 0, error: null, created_at: iso(now) };
      await store.write(async (db) => {
        for (const id of ["turn-a", "turn-b"]) await insertExport(db, { ...row, id, status: "running" });
        await insertExport(db, { ...row, id: "turn-c", status: "complete" });
      });
      const after = async (id: string) => (await nextOpenExport(store.db, 1, id))?.id;
      assert.deepEqual(await teamsWithOpenExports(store.db), [1]);
      assert.deepEqual([await after(""), await after("turn-a"), await after("turn-b")], ["turn-a", "turn-b", "turn-a"]);
    });

    it("ends the exports of removed versions, however they were removed, and no others", async () => {
      for (const uuid of ["gone", "dropped", "stays"]) {
        await putVersion(store, `exports-${uuid}`, { uuid });
        const version_id = (await versionIdOf(store.db, 1, uuid)) ?? 0;
        const row = { id: uuid, team_id: 1, version_id, status: "complete", num_files: 1, files_done: 1 } as const;
        await store.write((db) => insertExport(db, { ...row, error: null, created_at: iso(now) }));
      }
      await store.write((db) => markRemoved(db, 1, ["gone"], iso(now)));
      const dropped = (await versionIdOf(store.db, 1, "dropped")) ?? 0;
      await store.write((db) => markVersionsRemoved(db, [dropped], iso(now)));
      const statuses = await Promise.all(
        ["gone", "dropped", "stays"].map(async (id) => (await findExport(store.db, id))?.status),
      );
      assert.deepEqual(statuses, ["removed", "removed", "complete"]);
    });

    it("removes more versions at once than a statement can have parameters", async () => {
      const ids = Array.from({ length: 70_000 }, (_, index) => 1_000_000 + index);
      assert.equal(await store.write((db) => markVersionsRemoved(db, ids, iso(now))), 0);
    });

    it("walks lineage in both directions, up to its limit", async () => {
      await putVersion(store, "parent", { uuid: "p" });
      for (const child of ["c1", "c2", "c3"])
        await putVersion(store, child, { uuid: child, needs: [{ uuid: "p" }, { uri: "s3://bucket" }] });
      const ids = await Promise.all(["p", "c1", "c2", "c3"].map((uuid) => versionIdOf(store.db, 1, uuid)));
      const [parent = 0, ...children] = ids.map((id) => id ?? 0);
      const down = await stepsFrom(store.db, [parent], "downstream", 10);
      assert.deepEqual(
        down.map(({ version_id }) => version_id),
        children,
      );
      assert.equal((await stepsFrom(store.db, [parent], "downstream", 2)).length, 2);
      assert.equal((await stepsFrom(store.db, children, "upstream", 10)).length, 6);
    });

    it("charges attempts with shares of the warehouse's growth beyond the largest size that each has seen", async () => {
      const [first, second] = [await job("RUNNING"), await job("RUNNING")];
      const at = { created_at: iso(now), signalled_at: null };
      const held = { cluster_id: 9, slots: 1, server_id: "peaks", boot_id: "b", ...at };
      const open = (job_id: string) =>
        store.write((db) => openAttempt(db, { job_id, team_id: 1, attempt: 1, ...held }));
      const shares = async () =>
        new Map((await openAttempts(store.db, "peaks")).map(({ job_id, store_bytes }) => [job_id, store_bytes]));
      const share = (jobs: string[], from: number, to: number) =>
        store.write((db) => shareGrowth(db, jobs, { from, to }));
      await open(first);
      assert.equal(await share([first], 1000, 1400), true);
      for (let i = 0; i < 5; i++) {
        assert.equal(await share([first], 1400, 1000), false);
        assert.equal(await share([first], 1000, 1400), false, "it was as large before");
      }
      assert.deepEqual(await shares(), new Map([[first, 400]]));
      await open(second);
      assert.equal(await share([first, second], 1000, 1601), true);
      assert.deepEqual(
        await shares(),
        new Map([
          [first, 500],
          [second, 300],
        ]),
      );
      await store.write(async (db) => {
        for (const id of [first, second]) await closeAttempt(db, id, 1);
      });
    });

    it("deletes only files that no job uses", async () => {
      const file = {
        team_id: 1,
        user_id: 1,
        filename: "f",
        size: 5_000_000_000,
        sha256: "s",
        created_at: iso(now),
        attached_at: null,
      };
      const [used, unused] = await store.write(async (db) => [
        await insertFile(db, { ...file, blob: "used" }),
        await insertFile(db, { ...file, blob: "unused" }),
      ]);
      assert.notEqual(used, unused);
      await store.write((db) => markAttached(db, [used ?? 0], iso(now)));
      assert.deepEqual(await store.write((db) => deleteUnusedFiles(db, iso(now), 9)), []);
      const removed = await store.write((db) => deleteUnusedFiles(db, iso(now + 1), 9));
      assert.deepEqual(
        removed.map((row) => row.blob),
        ["unused"],
      );
    });

    it("deletes unused files in batches, oldest first, with one update of the team's usage per batch", async () => {
      const file = { team_id: 1, user_id: 1, filename: "f", size: 5000, sha256: "s", attached_at: null };
      await store.write(async (db) => {
        for (let i = 0; i < 25; i++)
          await insertFile(db, { ...file, blob: `old${String(i).padStart(2, "0")}`, created_at: iso(now - 100 + i) });
      });
      const uploads = async () => (await usageOf(store.db, 1)).uploads;
      const before = await uploads();
      let statements = 0;
      const counter: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          statements++;
          return result;
        },
      };
      const removed = await store.write((db) => deleteUnusedFiles(db.withPlugin(counter), iso(now), 20));
      assert.deepEqual([removed.length, statements], [20, 2]);
      assert.ok(removed.every(({ blob }) => blob < "old20"));
      assert.equal(before - (await uploads()), 20 * 8192);
      assert.equal((await store.write((db) => deleteUnusedFiles(db, iso(now), 20))).length, 5);
      assert.equal(before - (await uploads()), 25 * 8192);
    });

    listConformance(() => store);
    pipelineConformance(() => store);
    scheduleConformance(() => store);
    retryConformance(() => store);
    textConformance(
      () => store,
      () => fixture.open("main"),
    );
    registerConformance(() => store);
    outboxConformance(() => store);
    versionConformance(() => store, job);
  });
}

const dataset = (uuid: string) => ({ uuid, description: null, attrs: "[]" });

const deviceLogin = {
  device_hash: "device",
  user_code: "CODE",
  client_name: "c",
  token_name: "t",
  scopes: "[]",
  team_names: null,
  expires_in_days: 1,
  status: "pending",
  user_id: null,
  granted_scopes: null,
  granted_team_ids: null,
  granted_until: null,
  granted_by: null,
  expires_at: iso(now + 1000),
} as const;

const addUser = async (store: Store, username: string, is_admin = 0): Promise<number> =>
  (await store.write((db) =>
    insertUser(db, { username, first_name: "", last_name: "", is_admin, created_at: iso(now) }),
  )) ?? 0;

async function addTeam(store: Store, name: string): Promise<number> {
  const { id } = await store.write((db) =>
    db
      .insertInto("teams")
      .values({ name, created_at: iso(now) })
      .returning("id")
      .executeTakeFirstOrThrow(),
  );
  return id;
}

const jobRow = (id: string, status: JobStatus, { name = "n" }: { name?: string } = {}) => ({
  id,
  team_id: 1,
  user_id: 1,
  cluster_id: 1,
  name,
  status,
  attempt: 0,
  spec: "{}",
  environment: "",
  secrets: "",
  scopes: "[]",
  metrics: "{}",
  exit_code: null,
  error_message: null,
  error_stack: null,
  steps: null,
  parent_job_id: null,
  created_at: iso(now),
  started_at: null,
  finished_at: null,
  log_removed_at: null,
  log_bytes: null,
});
