/** A follower of the live stream that reads slowly, or not at all. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { allScopes } from "@millrace/contract";
import { LiveFeeds } from "../../src/http/live/live-feeds.ts";
import { LiveFollower } from "../../src/http/live/live-follower.ts";
import { Changes } from "../../src/turns/changes.ts";
import { until } from "../support/until.ts";

/** An answer whose reader may stop reading. */
class Answer extends Writable {
  text = "";
  #release = () => {};
  isRead = true;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    if (this.isRead) done();
    else this.#release = done;
  }

  read(): void {
    this.isRead = true;
    this.#release();
  }
}

describe("a follower that does not read", () => {
  it("keeps little in memory, and is told afterwards that anything may have changed", async () => {
    const answer = new Answer();
    const follower = new LiveFollower(answer as unknown as ServerResponse, allScopes, () => {});
    answer.isRead = false;
    for (let count = 0; count < 100_000; count++) follower.tell('{"changed":[{"kind":"jobs"}]}');
    assert.ok(answer.writableLength < 70_000, `${answer.writableLength} bytes wait`);
    for (let count = 0; count < 100; count++) follower.beat();
    answer.read();
    await until(async () => answer.text.includes("all"));
    assert.match(answer.text, /data: \{"all":true\}\n\n$/);
  });

  it("is told afterwards whether the database is there", async () => {
    const answer = new Answer();
    const follower = new LiveFollower(answer as unknown as ServerResponse, allScopes, () => {});
    follower.tellDatabase("away");
    assert.match(answer.text, /data: \{"database":"away"\}\n\n$/);
    answer.isRead = false;
    for (let count = 0; count < 10_000; count++) follower.tell('{"changed":[{"kind":"jobs"}]}');
    follower.tellDatabase("back");
    answer.read();
    await until(async () => answer.text.includes("back"));
    assert.match(answer.text, /data: \{"all":true,"database":"back"\}\n\n$/);
  });
});

describe("a stream that the server ends", () => {
  it("is cut off if its caller does not read the rest", async () => {
    const answer = new Answer();
    answer.isRead = false;
    const follower = new LiveFollower(answer as unknown as ServerResponse, allScopes, () => {});
    follower.end();
    await until(async () => answer.destroyed, 5);
  });
});

describe("a feed", () => {
  it("tells many followers of a team together, and none of them after they left", async () => {
    const changes = new Changes();
    const feeds = new LiveFeeds(changes);
    const told: string[][] = Array.from({ length: 1000 }, () => []);
    const leaves = told.map((heard) =>
      feeds.join(1, {
        hears: () => true,
        tell: (notice) => void heard.push(notice),
        tellDatabase: () => {},
        check: () => {},
      }),
    );
    for (let count = 0; count < 10_000; count++) changes.note(1, "jobs", String(count));
    changes.note(2, "webhooks");
    await until(async () => told.every((heard) => heard.length === 1));
    assert.deepEqual(new Set(told.flat()), new Set(['{"changed":[{"kind":"jobs"}]}']));
    for (const leave of leaves) leave();
    changes.note(1, "jobs");
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.ok(told.every((heard) => heard.length === 1));
  });
});
