/** All bytes that a job writes arrive through `datachain job run`, complete and in order. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { readLogBytes } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertStatuses, jobIdOf, logOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();

describe("bytes of a followed log", { skip, concurrency: 2 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });

  /** Runs a script that writes these bytes, and compares the client's output and the REST answer. */
  async function assertArrives(script: string, expected: Buffer): Promise<void> {
    const client = await suite.client();
    await client.write("write.py", `import sys\nout = sys.stdout.buffer\n${script}\nout.flush()\n`);
    const result = await client.run("job", "run", "write.py");
    assert.equal(result.code, 0, result.stderr);
    assertStatuses(result.stdout, "COMPLETE");
    assertSame(await readLogBytes(suite.api, jobIdOf(result)), expected);
    // Over the socket, bytes that are not UTF-8 are replacement characters.
    assertSame(Buffer.from(logOf(result.stdout)), Buffer.from(expected.toString("utf8")));
  }

  test("progress bars that draw over themselves with carriage returns", async () => {
    const bars = Array.from({ length: 101 }, (_, i) => `\r${String(i).padStart(3)}%|${"█".repeat(i / 4).padEnd(25)}|`);
    const script = `import time
for i in range(101):
    out.write(f"\\r{i:3d}%|{'█' * (i // 4):<25}|".encode())
    out.flush()
    time.sleep(0.005)
out.write(b"\\nplain\\r\\nwindows lines\\r\\nlast\\r")`;
    await assertArrives(script, Buffer.from(`${bars.join("")}\nplain\r\nwindows lines\r\nlast\r`));
  });

  test("invalid UTF-8 and NUL bytes", async () => {
    const bytes = [
      ...Buffer.from("good ä€😀\n"),
      ...[0xff, 0xfe, 0x0a, 0x00, 0x00, 0x61, 0x0a, 0xc3, 0x28, 0x0a, 0xe2, 0x82, 0x0a, 0xed, 0xa0, 0x80, 0x0a],
      ...Array.from({ length: 256 }, (_, i) => i).filter((i) => i !== 0x0d),
      0x0a,
      ...[0xf0, 0x9f, 0x98],
    ];
    await assertArrives(`out.write(bytes(${JSON.stringify(bytes)}))`, Buffer.from(bytes));
  });

  test("a log of 200,000 lines", async () => {
    const text = Array.from({ length: 200_000 }, (_, i) => `${i} of many\n`).join("");
    await assertArrives('for i in range(200000): out.write(b"%d of many\\n" % i)', Buffer.from(text));
  });

  test("a single line of 5 MB, whose characters do not fall on the boundaries of pieces", async () => {
    const text = `x${"aä€😀".repeat(500_000)}`;
    await assertArrives('out.write(("x" + "aä€😀" * 500000).encode())', Buffer.from(text));
  });

  test("control characters that take six times their size in JSON", async () => {
    await assertArrives('out.write(b"\\x01\\x1b\\x7f\\x00" * 300000)', Buffer.from("\x01\x1b\x7f\x00".repeat(300_000)));
  });
});

/** Compares size and hash, because a diff of megabytes is useless. */
function assertSame(actual: Buffer, expected: Buffer): void {
  if (actual.equals(expected)) return;
  const at = actual.findIndex((byte, index) => byte !== expected[index]);
  const place = at === -1 ? Math.min(actual.length, expected.length) : at;
  const around = (bytes: Buffer) => JSON.stringify(bytes.toString("latin1", Math.max(0, place - 40), place + 40));
  assert.fail(
    `${actual.length} bytes (${digest(actual)}), not ${expected.length} (${digest(expected)}); they differ at ${place}: ${around(actual)}, not ${around(expected)}`,
  );
}

const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex").slice(0, 12);
