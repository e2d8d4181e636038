import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cutPieces, pieceLimit, toPieces } from "../../src/logs/pieces.ts";
import { readPieces } from "../../src/logs/read-pieces.ts";

const cut = (text: string | Buffer, ended = false) => {
  const bytes = Buffer.from(text as string);
  return toPieces(bytes, 0, cutPieces(bytes, ended)).map((piece) => piece.message);
};

describe("pieces of a log", () => {
  it("end after a line feed", () => assert.deepEqual(cut("a\nb\n"), ["a\n", "b\n"]));
  it("end after a carriage return that no line feed follows", () =>
    assert.deepEqual(cut("10%\r20%\r100%\r\nok\n"), ["10%\r", "20%\r", "100%\r\n", "ok\n"]));
  it("wait for the byte after a carriage return", () => assert.deepEqual(cut("10%\r"), []));
  it("of an unterminated tail are held back until the job has ended", () => {
    assert.deepEqual(cut("done\nloading"), ["done\n"]);
    assert.deepEqual(cut("done\nloading", true), ["done\n", "loading"]);
    assert.deepEqual(cut("10%\r", true), ["10%\r"]);
  });
  it("of an endless line are 64 KiB long, ending at a UTF-8 boundary", () => {
    const line = `${"x".repeat(pieceLimit - 1)}€${"y".repeat(10)}\n`;
    const pieces = cut(line);
    assert.deepEqual(
      pieces.map((p) => Buffer.byteLength(p)),
      [pieceLimit - 1, 14],
    );
    assert.equal(pieces.join(""), line);
  });
  it("keep NUL bytes and turn bytes that are not UTF-8 into U+FFFD", () => {
    assert.deepEqual(cut(Buffer.from([0x61, 0, 0xff, 0x0a])), ["a\0\ufffd\n"]);
  });
  it("have the offset of their first byte plus one as id", () => {
    const bytes = Buffer.from("ab\n€\nz\n");
    assert.deepEqual(
      toPieces(bytes, 100, cutPieces(bytes, true)).map((p) => p.id),
      [101, 104, 108],
    );
  });

  it("are the same however the log arrives: a pure function of its bytes", async () => {
    const log = randomLog(400_000, 7);
    const whole = cutPieces(log, true);
    for (const seed of [1, 2, 3]) assert.deepEqual(await cutInParts(log, seed), whole);
  });

  it("of a 50 MB line and of a million lines are found in bounded memory", async () => {
    const source = (bytes: Buffer) => ({ read: async (o: number, n: number) => bytes.subarray(o, o + n) });
    for (const log of [Buffer.alloc(50_000_000, "x"), Buffer.alloc(2_000_000, "y\n")]) {
      let offset = 0;
      for (;;) {
        const batch = await readPieces(source(log), offset, true);
        assert.ok(Buffer.byteLength(JSON.stringify({ logs: batch.pieces })) < 1024 * 1024, "a frame stays below 1 MiB");
        offset = batch.next;
        if (batch.finished) break;
      }
      assert.equal(offset, log.length);
    }
  });

  it("form frames below 1 MiB even if they consist of control characters", async () => {
    const log = Buffer.alloc(3_000_000, "\u0001");
    const batch = await readPieces({ read: async (o, n) => log.subarray(o, o + n) }, 0, false);
    assert.ok(batch.pieces.length > 0);
    assert.ok(Buffer.byteLength(JSON.stringify({ logs: batch.pieces })) < 1024 * 1024);
  });
});

/** Reads as a follower does: the log grows by odd amounts, and each read starts where the last piece ended. */
async function cutInParts(log: Buffer, seed: number): Promise<number[]> {
  const random = generator(seed);
  const ends: number[] = [];
  let size = 0;
  let offset = 0;
  while (size < log.length) {
    size = Math.min(log.length, size + Math.floor(random() * 50_000));
    const ended = size === log.length;
    for (;;) {
      const found = cutPieces(
        log.subarray(offset, Math.min(size, offset + 256 * 1024)),
        ended && size - offset <= 256 * 1024,
      );
      if (found.length === 0) break;
      ends.push(...found.map((end) => end + offset));
      offset = ends.at(-1) ?? offset;
    }
  }
  return ends;
}

function randomLog(length: number, seed: number): Buffer {
  const random = generator(seed);
  const parts: Buffer[] = [];
  for (let size = 0; size < length; ) {
    const kind = random();
    const part =
      kind < 0.01
        ? Buffer.alloc(Math.floor(random() * 150_000), "é")
        : kind < 0.5
          ? Buffer.from("line\n")
          : kind < 0.7
            ? Buffer.from("50%\r")
            : kind < 0.8
              ? Buffer.from("w\r\n")
              : Buffer.from([random() * 256]);
    parts.push(part);
    size += part.length;
  }
  return Buffer.concat(parts);
}

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
