/**
 * When people leave, their work is shown and handed over, or stops and says why. On both databases. Much work has tests
 * of its own (large-handover.test.ts).
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, type Job, type PipelineSchedule, routes } from "@millrace/contract";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { runningJob } from "../support/job-tokens.ts";
import { addPerson, addTeam, type Person, refused } from "../support/people.ts";

const service = "main-service";

for (const kind of ["SQLite", "PostgreSQL"] as const)
  describe(`a user who leaves, on ${kind}`, () => {
    let postgres: TestPostgres | undefined;
    let server: InProcessServer;
    let admin: Client;
    before(async () => {
      if (kind === "PostgreSQL") postgres = await startPostgres();
      const database = postgres ? { MILLRACE_DATABASE_URL: await postgres.createDatabase() } : {};
      server = await startInProcess({ MILLRACE_MAX_WORKERS: "2", ...database });
      admin = await server.client();
      await admin.call(routes.createServiceAccount, { params: { team_name: "main" }, body: {} });
    });
    after(async () => {
      await server.dispose();
      await postgres?.stop();
    });

    let counter = 0;
    /** Creates a user with a dataset and a schedule that rebuilds it. */
    async function leaver(input: object = {}) {
      const name = `leaver-${++counter}`;
      const person = await addPerson(server, name, { team: "main" });
      const schedule = await makeSchedule(person, `nightly ${name}`, `data-${counter}`, input);
      return { ...person, schedule };
    }
    async function makeSchedule({ client, username }: Person, name: string, dataset: string, input: object = {}) {
      await makeDataset({ store: server.store, client }, dataset, "exit 0", { namespace: `@${username}`, input });
      const body = { datasets: [dataset], review: true };
      const { pipeline } = await client.call(routes.triggerPipeline, { body });
      await client.call(routes.cancelPipeline, { body: { name: pipeline.name } });
      return createSchedule(client, name, pipeline.name);
    }
    const createSchedule = async (client: Client, schedule_name: string, pipeline_name: string) => {
      const body = { schedule_name, pipeline_name, cron_expression: "@yearly" };
      return (await client.call(routes.createSchedule, { body })).schedule;
    };
    const makeTask = (client: Client, input: object = {}) =>
      client.call(routes.createJob, {
        body: { query: "exit 0", query_type: "SHELL", query_name: "task.sh", cron_expression: "@yearly", ...input },
      });
    const setOwn = (client: Client, name: string) =>
      client.call(routes.setOwnCredentials, { body: { name, values: { KEY: "a value" } } });

    const read = ({ id }: { id: number }) => admin.call(routes.getSchedule, { query: { schedule_id: id } });
    const disable = (username: string, body: object = {}, as = admin) =>
      as.call(routes.updateUser, { params: { username }, body: { disabled: true, ...body } });
    const workOf = (username: string, query: object = {}) =>
      admin.call(routes.getUserWork, { params: { username }, query });
    const isDisabled = async (username: string) =>
      (await admin.call(routes.getUser, { params: { username } })).disabled_at !== null;
    const audited = async (action: string, target: string) =>
      (await admin.call(routes.listAudit, { query: { action, limit: 200 } }))
        .filter((entry) => entry.target === target)
        .map(({ detail }) => detail);
    const tokenOf = async (id: string) =>
      (await server.store.db.selectFrom("jobs").select("token_id").where("id", "=", id).executeTakeFirstOrThrow())
        .token_id;
    const jobOf = async (id: string): Promise<Job> => {
      const [job] = await admin.call(routes.listJobs, { query: { job_id: id } });
      return job as Job;
    };

    /** Makes the schedule due a moment ago; resolves when the tick was handled. */
    async function tick(schedule: PipelineSchedule): Promise<PipelineSchedule> {
      const next_run = iso(Date.now() - 1000);
      await server.store.write((db) =>
        db.updateTable("schedules").set({ next_run }).where("id", "=", schedule.id).execute(),
      );
      return until(async () => {
        const now = await read(schedule);
        return now.next_run !== next_run ? now : undefined;
      });
    }
    /** The same for a task; returns the job that it created, if any. */
    async function tickTask({ id }: Job): Promise<Job | undefined> {
      const next_run = iso(Date.now() - 1000);
      await server.store.write((db) => db.updateTable("tasks").set({ next_run }).where("job_id", "=", id).execute());
      await until(async () => ((await jobOf(id)).next_run !== next_run ? true : undefined));
      return (await admin.call(routes.listJobs, { query: { parent_job_id: id } }))[0];
    }
    async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
      for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
        const found = await ask();
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error("it did not come");
    }
    /** The jobs of the newest run of a schedule. */
    const runsOf = ({ latest_run }: PipelineSchedule) =>
      Promise.all((latest_run?.job_runs ?? []).map(({ created_job_id }) => jobOf(created_job_id ?? "")));

    it("is shown with everything that runs as them, and with the credentials that a new owner would have", async () => {
      const ann = await leaver();
      await setOwn(ann.client, "own-only");
      await setOwn(ann.client, "unused");
      const task = await makeTask(ann.client, { credentials_name: "own-only" });
      await makeDataset({ store: server.store, client: ann.client }, "waits", "exit 0", {
        namespace: `@${ann.username}`,
      });
      const body = { datasets: ["waits"], review: true };
      const { pipeline } = await ann.client.call(routes.triggerPipeline, { body });
      const running = await runningJob(ann.client);

      const work = await workOf(ann.username, { transfer_to: service });
      assert.deepEqual(
        work.schedules.map(({ team, name, is_owner, runs }) => [team, name, is_owner, runs]),
        [["main", ann.schedule.schedule_name, true, 1]],
      );
      assert.deepEqual(
        work.tasks.map(({ id, cron_expression }) => [id, cron_expression]),
        [[task.id, "@yearly"]],
      );
      assert.deepEqual(
        work.pipelines.map(({ name, status, runs }) => [name, status, runs]),
        [[pipeline.name, "PAUSED", 1]],
      );
      assert.deepEqual(work.credentials, [{ team: "main", name: "own-only", replaced_by: "missing" }]);
      assert.equal(work.jobs.length, 1);
      assert.deepEqual(
        work.tokens.map(({ name }) => name),
        ["admin token"],
      );
      assert.equal(work.transfer_refused, null);
      const params = { team_name: "main", username: ann.username };
      const inTeam = await admin.call(routes.getMemberWork, { params, query: {} });
      assert.deepEqual([inTeam.tasks, inTeam.tokens], [work.tasks, []], "tokens are no business of a team's admin");
      await running.end();
    });

    it("hands over schedules, tasks and pipelines in the transaction that disables them: they continue as the new owner", async () => {
      const ann = await leaver();
      const task = await makeTask(ann.client);
      await makeDataset({ store: server.store, client: ann.client }, "goes-on", "exit 0", {
        namespace: `@${ann.username}`,
      });
      const body = { datasets: ["goes-on"], review: true };
      const { pipeline } = await ann.client.call(routes.triggerPipeline, { body });
      const ofPipeline = pipeline.job_runs[0]?.created_job_id ?? "";
      assert.notEqual(await tokenOf(ofPipeline), null);
      await disable(ann.username, { transfer_to: service });
      assert.equal(await tokenOf(ofPipeline), null, "a run of the new owner remembers no token of the old one");

      assert.equal(await isDisabled(ann.username), true);
      const schedule = await tick(ann.schedule);
      assert.deepEqual(
        [schedule.created_by.username, schedule.owner.username, schedule.owner.service_account, schedule.owner_problem],
        [ann.username, service, true, null],
      );
      assert.equal(schedule.last_error, null);
      assert.equal(schedule.latest_run?.created_by, service);
      const [draft] = await runsOf(schedule);
      assert.deepEqual([draft?.created_by, draft?.home], [service, ann.username]);
      const fired = await tickTask(task);
      assert.deepEqual([fired?.created_by, fired?.home], [service, ann.username]);
      assert.equal((await jobOf(task.id)).created_by, ann.username, "who made it stays");
      const tasks = await admin.call(routes.listTasks, { query: {} });
      const shown = tasks.find(({ id }) => id === task.id);
      assert.deepEqual([shown?.created_by, shown?.owner], [ann.username, service], "and as whom its jobs run is told");

      await admin.call(routes.resumePipeline, { body: { name: pipeline.name } });
      const done = await until(async () => {
        const now = await admin.call(routes.getPipeline, { query: { name: pipeline.name } });
        return now.status === "COMPLETED" ? now : undefined;
      });
      assert.equal((await jobOf(done.job_runs[0]?.created_job_id ?? "")).created_by, service);
      const detail = [`${ann.username} to ${service}`];
      assert.deepEqual(await audited("schedule.hand-over", ann.schedule.schedule_name), detail);
      assert.deepEqual(await audited("pipeline.hand-over", pipeline.name), detail);
      assert.ok((await audited("task.hand-over", "task.sh")).includes(detail[0] ?? ""));
      assert.deepEqual((await workOf(ann.username)).schedules, []);
      assert.deepEqual((await workOf(ann.username)).tasks, []);
    });

    it("is not disabled and hands nothing over if the new owner lacks credentials, unless forced", async () => {
      const ann = await leaver();
      await setOwn(ann.client, "hers");
      const task = await makeTask(ann.client, { credentials_name: "hers" });
      await refused(
        disable(ann.username, { transfer_to: service }),
        "wrong_state",
        /main-service has no credentials with these names: hers \(team main\)\. The runs that use these credentials would fail/,
      );
      assert.equal(await isDisabled(ann.username), false);
      assert.equal((await read(ann.schedule)).owner.username, ann.username);
      await disable(ann.username, { transfer_to: service, force: true });
      const failed = await tickTask(task);
      const ended = await until(async () => {
        const job = await jobOf(failed?.id ?? "");
        return job.status === "FAILED" ? job : undefined;
      });
      assert.match(ended.error_message ?? "", /The credentials hers were deleted/);
      const set = { name: "hers", values: { KEY: "of the team" } };
      await admin.call(routes.setTeamCredentials, { body: set });
      assert.deepEqual((await tickTask(task))?.created_by, service);
    });

    it("changes nothing if a part of the handover fails", async () => {
      const ann = await leaver();
      const task = await makeTask(ann.client);
      const body = { datasets: [`data-${counter}`], review: true };
      const { pipeline } = await ann.client.call(routes.triggerPipeline, { body });
      const original = pipeline.job_runs[0]?.job_id ?? "";
      const set = (scopes: string) =>
        server.store.write((db) => db.updateTable("jobs").set({ scopes }).where("id", "=", original).execute());
      // Its draft cannot be given to anybody, and that step comes after the schedule was handed over.
      await set("not JSON");
      await assert.rejects(disable(ann.username, { transfer_to: service }));
      await set("[]");
      assert.equal(await isDisabled(ann.username), false);
      assert.equal((await read(ann.schedule)).owner.username, ann.username);
      assert.deepEqual(await audited("schedule.hand-over", ann.schedule.schedule_name), []);
      await disable(ann.username, { transfer_to: service });
      assert.equal((await tickTask(task))?.created_by, service);
    });

    it("without a new owner stops their work, which says why at once, until they are enabled again", async () => {
      const ann = await leaver();
      const task = await makeTask(ann.client);
      await disable(ann.username);
      const why = new RegExp(`${ann.username}.*, who is disabled`);
      const listed = await admin.call(routes.listSchedules, { query: {} });
      assert.match(listed.find(({ id }) => id === ann.schedule.id)?.owner_problem ?? "", why);
      const failed = await tick(ann.schedule);
      assert.match(failed.last_error ?? "", why);
      assert.equal(await tickTask(task), undefined, "nothing was fired");
      assert.match((await jobOf(task.id)).error_message ?? "", why);
      assert.equal(await tickTask(task), undefined);
      assert.equal((await audited("task.fail", "task.sh")).filter((detail) => why.test(detail)).length, 1, "said once");

      await admin.call(routes.updateUser, { params: { username: ann.username }, body: { disabled: false } });
      assert.equal((await read(ann.schedule)).owner_problem, null);
      assert.equal((await tickTask(task))?.created_by, ann.username);
      assert.equal((await jobOf(task.id)).error_message, null);
    });

    it("who is already disabled can still hand over", async () => {
      const ann = await leaver();
      await disable(ann.username);
      await disable(ann.username, { transfer_to: service });
      assert.equal((await tick(ann.schedule)).last_error, null);
    });

    it("does not change colleagues' runs of the same schedule, and a colleague's schedule continues with those", async () => {
      const [ann, ben] = [await leaver(), await leaver()];
      const datasets = [`@${ann.username}.default.data-${counter - 1}`, `@${ben.username}.default.data-${counter}`];
      const { pipeline } = await ben.client.call(routes.triggerPipeline, { body: { datasets, review: true } });
      const shared = await createSchedule(ben.client, `shared ${counter}`, pipeline.name);
      await ben.client.call(routes.cancelPipeline, { body: { name: pipeline.name } });
      await disable(ann.username, { transfer_to: service });
      const fired = await tick(shared);
      assert.equal(fired.owner.username, ben.username);
      assert.deepEqual(
        (await runsOf(fired)).map(({ created_by }) => created_by).sort(),
        [ben.username, service].sort(),
      );
      await disable(ben.username, { transfer_to: service });
      const alone = await tick(shared);
      assert.deepEqual(
        (await runsOf(alone)).map(({ created_by, home }) => [created_by, home]),
        [ann.username, ben.username].map((home) => [service, home]),
      );
    });

    it("hands over to an enabled editor of every affected team, and to nobody else", async () => {
      const ann = await leaver();
      const other = await addPerson(server, `other-${counter}`, { team: "main", role: "viewer" });
      const to = (transfer_to: string) => disable(ann.username, { transfer_to });
      await refused(to(other.username), "wrong_state", /is viewer in the team, and may not run jobs/);
      await refused(to("nobody-here"), "not_found", /no user nobody-here/);
      await refused(to(ann.username), "invalid", /another user than the one who leaves, got /);
      const look = await workOf(ann.username, { transfer_to: other.username });
      assert.match(look.transfer_refused ?? "", /is viewer in the team, and may not run jobs/);
      const second = `second-${kind.toLowerCase()}`;
      await addTeam(server, second);
      const member = { params: { team_name: second }, body: { username: ann.username, role: "editor" as const } };
      await admin.call(routes.addMember, member);
      const elsewhere = createClient({ url: server.url, token: ann.token, team: second });
      const task = await makeTask(elsewhere);
      await refused(to(service), "wrong_state", new RegExp(`in the team ${second}: ${service} is not in the team`));
      const params = { team_name: second, username: ann.username };
      await admin.call(routes.removeMember, { params, query: { transfer_to: "admin" } });
      assert.deepEqual(
        (await workOf("admin")).tasks.map(({ id, team }) => [id, team]),
        [[task.id, second]],
        "of that team alone",
      );
      assert.equal((await read(ann.schedule)).owner.username, ann.username);
      await to(service);
      await refused(disable("admin", { transfer_to: service }), "wrong_state", /not in the team/);
    });

    it("and a successor who leaves at the same moment: work is never left to a user who is gone", async () => {
      const [ann, ben] = [await leaver(), await leaver()];
      const both = await Promise.allSettled([
        disable(ann.username, { transfer_to: ben.username }),
        disable(ben.username, { transfer_to: ann.username }),
      ]);
      assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
      for (const { schedule } of [ann, ben]) assert.equal((await read(schedule)).owner_problem, null);
    });

    it("of a team hands over, by the team's admin, to the service account or to that admin only", async () => {
      const ann = await leaver();
      const boss = await addPerson(server, `boss-${counter}`, { team: "main", role: "admin" });
      const peer = await addPerson(server, `peer-${counter}`, { team: "main" });
      const params = { team_name: "main", username: ann.username };
      const remove = (transfer_to: string) => boss.client.call(routes.removeMember, { params, query: { transfer_to } });
      await refused(remove(peer.username), "forbidden", /own rights and credentials, which only peer-\d+ can lend/);
      const look = await boss.client.call(routes.getMemberWork, { params, query: { transfer_to: peer.username } });
      assert.match(look.transfer_refused ?? "", /can lend/);
      await remove(boss.username);
      assert.equal((await tick(ann.schedule)).latest_run?.created_by, boss.username);
    });
  });

describe("work", () => {
  let server: InProcessServer;
  let admin: Client;
  let ann: Person;
  let ben: Person;
  let boss: Person;
  let schedule: PipelineSchedule;
  let pipelineName: string;
  let task: Job;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    admin = await server.client();
    await admin.call(routes.createServiceAccount, { params: { team_name: "main" }, body: {} });
    ann = await addPerson(server, "ann", { team: "main" });
    ben = await addPerson(server, "ben", { team: "main" });
    boss = await addPerson(server, "boss", { team: "main", role: "admin" });
    await makeDataset({ store: server.store, client: ann.client }, "data", "exit 0", { namespace: "@ann" });
    const body = { datasets: ["data"], review: true };
    pipelineName = (await ann.client.call(routes.triggerPipeline, { body })).pipeline.name;
    const times = { schedule_name: "nightly", pipeline_name: pipelineName, cron_expression: "@yearly" };
    schedule = (await ann.client.call(routes.createSchedule, { body: times })).schedule;
    const script = { query: "exit 0", query_type: "SHELL", query_name: "t.sh", cron_expression: "@yearly" } as const;
    task = await ann.client.call(routes.createJob, { body: script });
  });
  after(() => server.dispose());

  const giveSchedule = (client: Client, owner: string) =>
    client.call(routes.updateSchedule, { body: { schedule_id: schedule.id, owner } });
  const givePipeline = (client: Client, owner: string, rest: object = {}) =>
    client.call(routes.handOverPipeline, { body: { name: pipelineName, owner, ...rest } });
  const giveTask = (client: Client, owner: string) =>
    client.call(routes.handOverTask, { params: { job_id: task.id }, body: { owner } });
  const draft = async () => {
    const { job_runs } = await admin.call(routes.getPipeline, { query: { name: pipelineName } });
    const id = job_runs[0]?.created_job_id ?? "";
    return server.store.db.selectFrom("jobs").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  };
  const nameOf = async (id: number) =>
    (await server.store.db.selectFrom("users").select("username").where("id", "=", id).executeTakeFirst())?.username;

  for (const [noun, give] of Object.entries({ schedule: giveSchedule, pipeline: givePipeline, task: giveTask }))
    it(`as a ${noun} is taken over by an editor, given to the service account by an admin, and to others only by an administrator of the server`, async () => {
      await refused(give(ann.client, "ben"), "forbidden", /which only ben can lend/);
      await refused(give(ann.client, service), "forbidden", /Only admins of the team main/);
      await refused(give(boss.client, "ben"), "forbidden", /which only ben can lend/);
      await refused(give(boss.client, "nobody-here"), "not_found", /no user nobody-here/);
      await give(ben.client, "ben");
      await give(boss.client, "boss");
      await give(boss.client, service);
      await give(admin, "ann");
      const { token, end } = await runningJob(ben.client);
      await refused(
        give(createClient({ url: server.url, token, team: "main" }), "ben"),
        "forbidden",
        /job's own token/,
      );
      await end();
    });

  it("runs for its new owner with no more scopes than the token that took it over", async () => {
    const token = await server.token({ user: "ben", scopes: ["PIPELINES", "JOB:read"] });
    await givePipeline(createClient({ url: server.url, token, team: "main" }), "ben");
    const { user_id, scopes, spec } = await draft();
    assert.equal(await nameOf(user_id), "ben");
    assert.deepEqual(JSON.parse(scopes), ["JOB:read", "PIPELINES:read", "PIPELINES:write"]);
    assert.equal((JSON.parse(spec) as Job).home, "ann");
    await givePipeline(admin, "ann");
    const back = await draft();
    assert.equal(await nameOf(back.user_id), "ann");
    assert.equal((JSON.parse(back.spec) as Job).home, undefined, "her own names again");
  });

  it("is not handed over if the new owner lacks credentials that it names, unless forced", async () => {
    await ann.client.call(routes.setOwnCredentials, { body: { name: "hers", values: { HERS: "a value" } } });
    const settings = { pipeline_name: pipelineName, credentials_names: ["hers"] };
    await ann.client.call(routes.updatePipelineSettings, { body: settings });
    await refused(
      givePipeline(boss.client, service),
      "wrong_state",
      /has no credentials with these names: hers \(team main\)/,
    );
    await givePipeline(boss.client, service, { force: true });
    assert.equal(await nameOf((await draft()).user_id), service);
    await refused(
      giveTask(boss.client, "boss").then(() => givePipeline(boss.client, "boss")),
      "wrong_state",
      /hers/,
    );
  });

  it("of the service account accepts code from admins of the team, and from no job or editor", async () => {
    const change = (client: Client) =>
      client.call(routes.updatePipelineSettings, { body: { pipeline_name: pipelineName, requirements: "humanize" } });
    await refused(change(ben.client), "forbidden", /main-service's/);
    const { token, end } = await runningJob(boss.client);
    await refused(change(createClient({ url: server.url, token, team: "main" })), "forbidden", /main-service's/);
    await end();
    await change(boss.client);
  });

  it("that is a finished task is not handed over", async () => {
    await ann.client.call(routes.cancelJob, { params: { job_id: task.id }, body: {} });
    await refused(giveTask(boss.client, service), "wrong_state", /is CANCELED; only a task that waits/);
  });

  it("can be created for the service account directly", async () => {
    const body = { schedule_name: "theirs", pipeline_name: pipelineName, cron_expression: "@yearly", owner: service };
    await refused(ben.client.call(routes.createSchedule, { body }), "forbidden", /Only admins/);
    const made = await boss.client.call(routes.createSchedule, { body: { ...body, force: true } });
    assert.deepEqual([made.schedule.created_by.username, made.schedule.owner.username], ["boss", service]);
    assert.equal(
      (await admin.call(routes.listSchedules, { query: {} })).length,
      2,
      "the one that was refused is not there",
    );
  });
});
