/** Logging never blocks or ends the server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { LogSink } from "../../src/machine/log-sink.ts";

describe("the log", () => {
  it("drops lines that cannot be written, and says how many when it can write again", () => {
    let text = "";
    let room = Number.POSITIVE_INFINITY;
    const sink = new LogSink((bytes) => {
      const part = bytes.subarray(0, room);
      if (part.length === 0) throw Object.assign(new Error(), { code: "ENOSPC" });
      text += part.toString();
      room -= part.length;
      return part.length;
    });
    sink.write("one\n");
    room = 2;
    for (const line of ["two\n", "three\n", "four\n"]) sink.write(line);
    room = Number.POSITIVE_INFINITY;
    sink.write("five\n");
    sink.write("six\n");
    assert.match(
      text,
      /^one\ntw\n\{"level":40,"time":\d+,"dropped":3,"msg":"log lines could not be written"\}\nfive\nsix\n$/,
    );
  });

  for (const [name, stderr] of [
    ["a reader that has stopped reading", "unread"],
    ["a reader that is gone", "closed"],
  ] as const) {
    it(`continues with ${name}`, async () => {
      const script = `
        import { openLogSink } from ${JSON.stringify(new URL("../../src/machine/log-sink.ts", import.meta.url).href)};
        process.stderr.on("error", () => {});
        const sink = openLogSink();
        for (let line = 0; line < 5000; line++) sink.write("x".repeat(1000) + "\\n");
        await new Promise((resolve) => setTimeout(resolve, 50));
        sink.write("more\\n");
        process.stdout.write("went on\\n", () => process.exit(0));`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      if (stderr === "closed") child.stderr.destroy();
      const [said] = (await once(child.stdout, "data")) as [Buffer];
      assert.equal(said.toString(), "went on\n");
      child.stderr.destroy();
      assert.deepEqual(await once(child, "exit"), [0, null]);
    });
  }
});
