/** The live stream while PostgreSQL is stopped and comes back: it goes on, and tells both. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type OwnPostgres, startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { Listener } from "../support/live-listener.ts";
import { refused } from "../support/people.ts";
import { until } from "../support/until.ts";

describe("the live stream without a database", { timeout: 120_000 }, () => {
  let postgres: OwnPostgres;
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    postgres = await startOwnPostgres();
    const MILLRACE_DATABASE_URL = await postgres.createDatabase();
    server = await startInProcess({ MILLRACE_DATABASE_URL, MILLRACE_DATABASE_TIMEOUT: "1" });
    client = await server.client();
  });
  after(async () => {
    await server.dispose();
    await postgres.stop();
  });

  it("goes on for longer than two signs of life, tells that the database went and came, and what changed then", async () => {
    const listener = await Listener.open(client);
    await postgres.cluster.down();
    await until(async () => listener.notices.some(({ database }) => database === "away"), 10);
    await refused(client.request(routes.followChanges, { query: {} }), "unavailable", /database of the server/);
    const { beats } = listener;
    await until(async () => listener.beats >= beats + 2, 40);
    assert.ok(!listener.isOver);
    await postgres.cluster.up();
    await until(async () => listener.notices.some(({ database }) => database === "back"), 20);
    const back = listener.notices.find(({ database }) => database === "back");
    assert.deepEqual(back, { all: true, database: "back" });
    const { id } = await createJob(client, shell("true"));
    await until(async () => listener.ids().includes(id), 10);
    assert.deepEqual(
      listener.notices.flatMap(({ database = [] }) => database),
      ["away", "back"],
    );
    listener.close();
  });
});
