/** The live stream: notices about changes in a team, for as long as the caller belongs to it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes } from "@millrace/contract";
import { createJob, readJob, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { Listener } from "../support/live-listener.ts";
import { addPerson, addTeam, refused, Visitor } from "../support/people.ts";
import { until } from "../support/until.ts";

const password = "correct horse battery";

describe("the live stream of a team", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_SMTP_URL: "smtp://127.0.0.1:9" });
    client = await server.client();
    await addTeam(server, "beta");
  });
  after(() => server.dispose());

  it("tells of a job's whole life, with its id, and of nothing to another team", async () => {
    const other = await Listener.open((await addPerson(server, "bo", { team: "beta" })).client);
    const listener = await Listener.open(client);
    const { job } = await runJob(client, shell("echo hello"));
    await until(async () => listener.ids().includes(job.id));
    // Created, queued, started, ended: coalesced to a few notices.
    assert.ok(listener.notices.length <= 6, `${listener.notices.length} notices`);
    assert.deepEqual(
      other.kinds().filter((kind) => kind !== "teams"),
      [],
    );
    other.close();
    listener.close();
  });

  it("tells of changes through routes: webhooks, credentials, members", async () => {
    const listener = await Listener.open(client);
    await client.call(routes.setTeamCredentials, { body: { name: "storage", values: { A: "b" } } });
    await client.call(routes.createWebhook, { body: { url: "https://live.example/hook" } });
    await addPerson(server, "newcomer", { team: "main" });
    for (const kind of ["credentials", "webhooks", "teams"] as const) await listener.hears(kind);
    listener.close();
  });

  it("tells of what loops do: a task that fires", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const start_after = new Date(Date.now() + 3000).toISOString();
    const task = await createJob(client, shell("true", { query_name: "later.sh", start_after }));
    const listener = await Listener.open(client);
    await until(async () => (await readJob(client, task.id)).status === "COMPLETE");
    await until(async () => listener.ids().includes(task.id));
    listener.close();
  });

  it("begins with what changed a moment ago, so that a page misses nothing between its first answer and the stream", async () => {
    await createJob(client, shell("true"));
    const listener = await Listener.open(client);
    await listener.hears("jobs");
    listener.close();
  });

  it("tells a token only what its scopes allow", async () => {
    const token = await server.token({ scopes: ["JOB"] });
    const listener = await Listener.open(createClient({ url: server.url, token, team: "main" }));
    await client.call(routes.createWebhook, { body: { url: "https://live.example/other" } });
    await client.call(routes.setTeamCredentials, { body: { name: "more", values: { A: "b" } } });
    await listener.hears("credentials");
    assert.ok(!listener.kinds().includes("webhooks"));
    listener.close();
  });

  it("names no ids when there are many, and tells at most a few times a second", async () => {
    const listener = await Listener.open(client);
    const begun = performance.now();
    await Promise.all(Array.from({ length: 120 }, () => createJob(client, shell("true"))));
    await listener.hears("jobs");
    await new Promise((resolve) => setTimeout(resolve, 500));
    const seconds = (performance.now() - begun) / 1000;
    assert.ok(listener.notices.length <= 2 + seconds * 2.6, `${listener.notices.length} notices in ${seconds} s`);
    for (const { changed = [] } of listener.notices) for (const { ids = [] } of changed) assert.ok(ids.length <= 51);
    listener.close();
  });

  it("ends at once for a member who is removed, and within a beat for a session that is signed out", async () => {
    const { client: leaver } = await addPerson(server, "leaver", { team: "main" });
    await addPerson(server, "vi", { team: "main", role: "viewer", password });
    const visitor = new Visitor(server.url);
    await visitor.post("/auth/sign-in", { username: "vi", password });
    const page = createClient({ url: server.url, team: "main" });
    const left = await Listener.open(leaver);
    const seen = await Listener.open(page, { cookie: visitor.cookie, "sec-fetch-site": "same-origin" });
    await refused(
      page.request(
        routes.followChanges,
        { query: {} },
        { headers: { cookie: visitor.cookie, "sec-fetch-site": "cross-site" } },
      ),
      "forbidden",
    );
    await client.call(routes.removeMember, { params: { team_name: "main", username: "leaver" }, query: {} });
    await until(async () => left.isOver, 5);
    assert.ok(!seen.isOver);
    await visitor.post("/auth/sign-out", {});
    await until(async () => seen.isOver, 20);
    assert.ok(seen.beats > 0);
  });

  it("is limited in number for each user", async () => {
    const { client: greedy } = await addPerson(server, "greedy", { team: "main" });
    const open = await Promise.all(Array.from({ length: 100 }, () => Listener.open(greedy)));
    await refused(greedy.request(routes.followChanges, { query: {} }), "too_many_requests", /100 live streams/);
    for (const listener of open) listener.close();
    const another = () => Listener.open(greedy).catch(() => undefined);
    await until(async () => {
      const listener = await another();
      listener?.close();
      return listener !== undefined;
    }, 10);
  });

  it("ends when the server stops, and does not delay the stop", async () => {
    const own = await startInProcess();
    const listener = await Listener.open(await own.client());
    const begun = performance.now();
    await own.dispose();
    assert.ok(performance.now() - begun < 10_000);
    await until(async () => listener.isOver, 5);
  });
});
