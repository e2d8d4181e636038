/** Following a job: each piece and status is printed once, in order, however often the connection broke. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LogPiece } from "@millrace/contract";
import { Reading } from "../src/job/reading.ts";

function reader(start = 0) {
  const told = { log: "", statuses: [] as string[] };
  const reading = new Reading(
    {
      onLog(text) {
        told.log += text;
        return undefined;
      },
      onStatus: (status) => told.statuses.push(status),
      onBreak() {},
    },
    start,
  );
  return { told, reading };
}

/** Pieces as the server cuts them: the id is the byte offset plus one. */
function pieces(...messages: string[]): LogPiece[] {
  let offset = 0;
  return messages.map((message) => {
    const id = offset + 1;
    offset += Buffer.byteLength(message);
    return { id, message };
  });
}

const job = (status: "QUEUED" | "RUNNING" | "COMPLETE" | "TASK") => ({ job: { id: "", status } });

describe("a reading", () => {
  it("prints every piece once if a new connection starts with pieces that it has seen", () => {
    const { told, reading } = reader();
    const all = pieces("one\n", "two\n", "three\n");
    reading.take({ logs: all.slice(0, 2) });
    reading.take({ logs: all.slice(1) });
    reading.take({ logs: all });
    assert.equal(told.log, "one\ntwo\nthree\n");
  });
  it("resumes at the last piece, whose length in bytes a replacement character may have changed", () => {
    const { told, reading } = reader();
    reading.take({ logs: [{ id: 1, message: "\ufffd\n" }] });
    assert.equal(reading.after, 0);
    reading.take({ logs: [{ id: 3, message: "next\n" }] });
    assert.equal(reading.after, 2);
    assert.equal(told.log, "\ufffd\nnext\n");
  });
  it("starts at the requested offset until something arrives", () => {
    const { reading } = reader(100);
    assert.equal(reading.after, 100);
    reading.take({ logs: [{ id: 101, message: "x\n" }] });
    assert.equal(reading.after, 100);
  });
  it("prints every status once", () => {
    const { told, reading } = reader();
    for (const status of ["QUEUED", "RUNNING", "QUEUED", "RUNNING", "COMPLETE"] as const) reading.take(job(status));
    assert.deepEqual(told.statuses, ["QUEUED", "RUNNING", "COMPLETE"]);
  });
  it("ends with a final status, including that of a task", () => {
    const { reading } = reader();
    reading.take(job("RUNNING"));
    assert.equal(reading.final, undefined);
    reading.take(job("COMPLETE"));
    assert.equal(reading.final, "COMPLETE");
    const task = reader().reading;
    task.take(job("TASK"));
    assert.equal(task.final, "TASK");
  });
  it("counts only new pieces as progress", () => {
    const { reading } = reader();
    reading.take(job("RUNNING"));
    reading.take({ logs: pieces("one\n") });
    const { news } = reading;
    reading.take({ type: "ping" });
    reading.take(job("RUNNING"));
    reading.take({ logs: pieces("one\n") });
    assert.equal(reading.news, news);
  });
  it("ends with an error if the server says that there is nothing to follow", () => {
    const { reading } = reader();
    assert.throws(() => reading.take({ message: "no such job" }), { why: "no such job", exitCode: 1 });
  });
});
