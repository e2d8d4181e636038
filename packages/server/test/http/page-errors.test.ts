/** Failures that are not the caller's fault: pages report them like the API does, and the log tells the operator. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { sql } from "kysely";
import { pino } from "pino";
import { startInProcess } from "../support/in-process.ts";
import { Visitor } from "../support/people.ts";

/** Collects what a server logs as an error, line by line. */
function errorLog() {
  const lines: string[] = [];
  const write = (line: Buffer, _encoding: string, done: () => void) => {
    lines.push(line.toString());
    done();
  };
  return { lines, log: pino({ level: "error" }, new Writable({ write })) };
}

describe("a page", () => {
  it("is a 503 with Retry-After while PostgreSQL is unavailable, and nothing is logged as an error", async () => {
    const postgres = await startOwnPostgres();
    const { lines, log } = errorLog();
    const env = { MILLRACE_DATABASE_URL: await postgres.createDatabase(), MILLRACE_DATABASE_TIMEOUT: "1" };
    const server = await startInProcess(env, log);
    const visitor = new Visitor(server.url);
    const told = async (response: Response) => {
      const [, message] = /<p class="said bad">(.*?)<\/p>/.exec(await response.text()) ?? [];
      return [response.status, response.headers.get("retry-after"), message];
    };
    const away = "The database of the server is unreachable; running jobs continue.";
    try {
      const cookie = { headers: { cookie: "millrace_session=made-up" } };
      assert.equal((await fetch(server.url, cookie)).status, 401);
      await postgres.cluster.down();
      while (server.store.isReachable()) await sleep(5);
      const nothing = `${away} Nothing was changed. Try again in a moment.`;
      for (const path of ["/", "/auth/account"])
        assert.deepEqual(await told(await fetch(server.url + path, cookie)), [503, "2", nothing], path);
      assert.deepEqual(await told(await visitor.get("/auth/sign-in?link=made-up")), [503, "2", nothing]);
      assert.deepEqual(await told(await visitor.post("/auth/sign-in", { username: "ada", password: "x" })), [
        503,
        "2",
        `${away} It is unknown whether this request took effect. Check before you repeat it.`,
      ]);
      assert.deepEqual(lines, []);
    } finally {
      await postgres.cluster.up();
      await server.dispose();
      await postgres.stop();
    }
  });

  it("is a 507 if the disk is full, and the log says so", async () => {
    const { lines, log } = errorLog();
    const server = await startInProcess({}, log);
    try {
      await server.store.write((db) => sql`pragma max_page_count = 1`.execute(db));
      const visitor = new Visitor(server.url);
      let status = 401;
      // Each request writes an audit row, so the database soon has no free page.
      for (let i = 0; i < 200 && status === 401; i++)
        ({ status } = await visitor.post("/auth/sign-in", { username: `user${i}`, password: "wrong" }));
      assert.equal(status, 507);
      assert.equal(lines.filter((line) => line.includes('"the disk is full"')).length, 1);
    } finally {
      await server.dispose();
    }
  });
});
