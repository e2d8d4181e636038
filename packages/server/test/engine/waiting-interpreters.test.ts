/** Which interpreters wait for jobs: within the memory, for the environments used last, and none in turns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { AttemptFolder } from "../../src/engines/local/attempt/attempt-folder.ts";
import { WaitingInterpreter } from "../../src/engines/local/waiting/waiting-interpreter.ts";
import { type Size, WaitingInterpreters } from "../../src/engines/local/waiting/waiting-interpreters.ts";

const mebibyte = 1024 * 1024;

/** An interpreter without processes. */
class Played extends WaitingInterpreter {
  constructor(key: string, shape: string) {
    super(new AttemptFolder("/nowhere", key), shape, undefined);
  }

  override async settle(): Promise<boolean> {
    return true;
  }

  override get isReady(): boolean {
    return this.memory !== undefined;
  }

  isEnded = false;

  override async end(): Promise<boolean> {
    this.isEnded = true;
    return true;
  }
}

function pool(memory: number, size: number | Size, available = () => Number.MAX_SAFE_INTEGER) {
  const made: Played[] = [];
  const removed: string[] = [];
  const waiting = new WaitingInterpreters({
    memory,
    available,
    processors: 2,
    measure: async () => (typeof size === "number" ? { memory: size, disk: 0 } : size),
    remove: async ({ shape }) => void removed.push(shape),
  });
  /** Whether interpreters say that they are ready. */
  const imports = { end: true };
  const begin = async (shape: string, team = 1) => {
    waiting.use(shape, team, async () => {
      const one = new Played(`${shape}.${made.length}`, shape);
      made.push(one);
      // It says that it is ready once it is known.
      if (imports.end) setImmediate(() => waiting.onWord(one.folder.key, "ready"));
      return one;
    });
    for (let turns = 0; turns < 20; turns++) await turn();
  };
  const end = async (shape: string) => {
    waiting.leave(shape);
    for (let turns = 0; turns < 20; turns++) await turn();
  };
  const use = async (shape: string, team = 1) => {
    await begin(shape, team);
    await end(shape);
  };
  return { waiting, made, removed, imports, use, begin, end };
}

describe("waiting interpreters", () => {
  it("serve one job each, of their own shape", async () => {
    const { waiting, made, use } = pool(256 * mebibyte, 70 * mebibyte);
    await use("a");
    assert.equal(waiting.take("b"), undefined);
    assert.equal(waiting.take("a"), made[0]);
    assert.equal(waiting.take("a"), undefined);
    await waiting.close();
  });

  for (const bytes of [60, 70, 96, 110, 140, 300].map((size) => size * mebibyte)) {
    it(`of ${bytes / mebibyte} MiB: stay within the memory, those used last, and are not replaced in turns`, async () => {
      const { waiting, made, use } = pool(256 * mebibyte, bytes);
      const shapes = ["a", "b", "c", "d", "e", "f"];
      for (const shape of shapes) await use(shape);
      assert.ok(made.length <= 2 * shapes.length, `${made.length} were started for ${shapes.length} environments`);
      const most = Math.floor((256 * mebibyte) / bytes);
      assert.equal(waiting.count, Math.min(most, shapes.length));
      for (const shape of shapes.reverse().slice(0, most)) assert.ok(waiting.take(shape), shape);
      await waiting.close();
    });
  }

  it("are started at the end of a job, so that the import does not slow it down", async () => {
    const { waiting, made, begin, end } = pool(256 * mebibyte, 70 * mebibyte);
    await begin("a");
    assert.equal(made.length, 0);
    await end("a");
    assert.equal(made.length, 1);
    await waiting.close();
  });

  it("are not started while jobs of other environments need the processors", async () => {
    const { waiting, made, begin, end } = pool(256 * mebibyte, 70 * mebibyte);
    await begin("a");
    await begin("b");
    await end("a");
    assert.deepEqual(made, []);
    await end("b");
    assert.deepEqual(made.map(({ shape }) => shape).sort(), ["a", "b"]);
    await waiting.close();
  });

  it("are started beside a long job of another environment after five seconds", async (t) => {
    const { waiting, made, begin, end } = pool(256 * mebibyte, 70 * mebibyte);
    await begin("long");
    await begin("a");
    await end("a");
    const now = performance.now();
    t.mock.method(performance, "now", () => now + 6000);
    waiting.check(now + 6000);
    await turn();
    assert.ok(made.some(({ shape }) => shape === "a"));
    await waiting.close();
  });

  it("are started beside a job if such jobs come in faster than an import takes", async () => {
    const { waiting, made, begin, end } = pool(256 * mebibyte, 70 * mebibyte);
    await begin("a");
    await begin("a");
    assert.equal(made.length, 2);
    await end("a");
    await end("a");
    await waiting.close();
  });

  it("are not ended by a measurement that ends after a job has taken them", async () => {
    const late = Promise.withResolvers<Size>();
    const answers = [Promise.resolve({ memory: 70 * mebibyte, disk: 0 }), late.promise];
    const one = new Played("a.0", "a");
    const waiting = new WaitingInterpreters({
      ...{ memory: 256 * mebibyte, available: () => Number.MAX_SAFE_INTEGER, remove: async () => {} },
      measure: () => answers.shift() ?? late.promise,
    });
    waiting.use("a", 1, async () => one);
    waiting.leave("a");
    await turn();
    for (let times = 0; times < 2; times++) waiting.onWord("a.0", "ready");
    await turn();
    assert.equal(waiting.take("a"), one);
    late.reject(new Error("its folder is the job's now"));
    await turn();
    assert.equal(one.isEnded, false);
    await waiting.close();
  });

  it("import one at a time", async () => {
    const { waiting, made, imports, use } = pool(256 * mebibyte, 70 * mebibyte);
    imports.end = false;
    await use("a");
    await use("b");
    assert.deepEqual(
      made.map(({ shape }) => shape),
      ["a"],
    );
    await waiting.close();
  });

  it("count with what they have written, and with their files in memory", async () => {
    const { waiting, use } = pool(256 * mebibyte, { memory: 100 * mebibyte, disk: 30 * mebibyte });
    await use("a");
    await use("b");
    assert.equal(waiting.count, 1);
    await waiting.close();
  });

  it("that wrote too much are ended, and the team gets none for ten minutes; another team does", async () => {
    const size = { memory: 70 * mebibyte, disk: 200 * mebibyte };
    const { waiting, made, removed, use } = pool(1024 * mebibyte, size);
    await use("a", 1);
    await use("b", 1);
    assert.deepEqual([made.length, removed, waiting.count], [1, ["a"], 0]);
    size.disk = 0;
    await use("c", 2);
    assert.ok(waiting.take("c"));
    waiting.check(performance.now() + 11 * 60_000);
    await use("a", 1);
    assert.ok(waiting.take("a"));
    await waiting.close();
  });

  it("whose import takes too long are ended, and the team gets none for ten minutes", async () => {
    const { waiting, made, removed, imports, use } = pool(256 * mebibyte, 70 * mebibyte);
    imports.end = false;
    await use("a");
    waiting.check(performance.now() + 121_000);
    await turn();
    imports.end = true;
    await use("b");
    assert.deepEqual([made.length, removed], [1, ["a"]]);
    await use("c", 2);
    assert.equal(waiting.count, 1);
    await waiting.close();
  });

  it("are given up while the machine is short of memory", async () => {
    let available = Number.MAX_SAFE_INTEGER;
    const { waiting, removed, use } = pool(256 * mebibyte, 70 * mebibyte, () => available);
    await use("a");
    await use("b");
    available = 0;
    waiting.check(performance.now());
    assert.equal(waiting.count, 0);
    await turn();
    assert.deepEqual(removed.toSorted(), ["a", "b"]);
    await waiting.close();
  });

  it("are given up ten minutes after the last job of their shape", async () => {
    const { waiting, use, begin } = pool(256 * mebibyte, 70 * mebibyte);
    await use("a");
    await use("b");
    await begin("b");
    waiting.check(performance.now() + 9 * 60_000);
    assert.equal(waiting.count, 2);
    waiting.check(performance.now() + 11 * 60_000);
    assert.equal(waiting.take("a"), undefined);
    assert.ok(waiting.take("b"));
    await waiting.close();
  });

  it("are not started while the machine is short of memory", async () => {
    const { waiting, made, use } = pool(256 * mebibyte, 70 * mebibyte, () => 0);
    await use("a");
    assert.equal(made.length, 0);
    await waiting.close();
  });

  it("are all ended by close", async () => {
    const { waiting, removed, use } = pool(256 * mebibyte, 70 * mebibyte);
    await use("a");
    await use("b");
    await waiting.close();
    assert.deepEqual([waiting.count, removed.toSorted()], [0, ["a", "b"]]);
  });
});
