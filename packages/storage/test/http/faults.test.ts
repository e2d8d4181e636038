/**
 * Thousands of operations through a proxy that fails as networks and stores do. No byte is wrong, no upload is left
 * behind, and nothing hangs. MILLRACE_LONG_TESTS=1 runs ten thousand; MILLRACE_FAULTS_SEED repeats the random choices
 * of a run, though not their timing.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ListMultipartUploadsCommand } from "@aws-sdk/client-s3";
import { isStorageError, openStorage, type Storage } from "@millrace/storage";
import { Random } from "@millrace/testing/random.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "@millrace/testing/servers/fault-proxy.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";

const skip = await whyNoVersitygw();
const isLong = process.env["MILLRACE_LONG_TESTS"] === "1";
const operations = isLong ? 10_000 : 500;
const seed = Number(process.env["MILLRACE_FAULTS_SEED"] ?? Date.now() % 1_000_000);
const Bucket = "faulty-bucket";

/** About every seventh request has a fault; overloads occur in bursts. */
function faultChooser(random: Random): () => Fault | undefined {
  let burst = 0;
  return () => {
    if (burst > 0) {
      burst -= 1;
      return { kind: "answer", status: 503, code: "SlowDown" };
    }
    const dice = random.next();
    if (dice < 0.02) burst = 1 + random.below(4);
    if (dice < 0.03) return { kind: "refuse" };
    if (dice < 0.06) return { kind: "lose" };
    if (dice < 0.09) return { kind: "break", at: random.next(), how: "reset" };
    if (dice < 0.12) return { kind: "break", at: random.next(), how: "end" };
    if (dice < 0.14) return { kind: "slow", pause: 20 };
    if (dice < 0.142) return { kind: "slow", pause: 2500 };
    if (dice < 0.15) return { kind: "answer", status: 400, code: "ExpiredToken" };
    if (dice < 0.155) return { kind: "answer", status: 500, code: "InternalError" };
    return undefined;
  };
}

/** One worker with its own keys and their expected contents. */
class Lane {
  readonly #name: string;
  readonly #faulty: Storage;
  readonly #plain: Storage;
  readonly #random: Random;
  readonly expected = new Map<string, Buffer>();
  /** Operations that failed despite retries, as some must with many faults. */
  failed = 0;

  constructor(name: string, faulty: Storage, plain: Storage, random: Random) {
    this.#name = name;
    this.#faulty = faulty;
    this.#plain = plain;
    this.#random = random;
  }

  async step(): Promise<void> {
    const action = this.#random.pick(this.#actions);
    const key = `${this.#name}/${this.#random.below(20)}`;
    try {
      await action(key);
    } catch (error) {
      if (!isStorageError(error, "network", "throttled")) throw error;
      this.failed += 1;
      await this.#settle(key);
    }
  }

  /** After a failure an object has its old or its new content; a read without faults shows which. */
  async #settle(key: string): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    const there = (await this.#plain.exists(key)) ? Buffer.from(await this.#plain.read(key)) : undefined;
    const before = this.expected.get(key);
    const isBefore = there === undefined ? before === undefined : before?.equals(there);
    const isWanted = there === undefined ? wanted === "removed" : wanted instanceof Buffer && wanted.equals(there);
    assert.ok(isBefore || isWanted, `${key} holds neither what it did nor what it should`);
    this.#remember(key, there);
  }

  #wanted: Buffer | "removed" | undefined;

  #remember(key: string, content: Buffer | undefined): void {
    if (content) this.expected.set(key, content);
    else this.expected.delete(key);
  }

  #write = async (key: string, content: Buffer, write: () => Promise<unknown>) => {
    this.#wanted = content;
    await write();
    this.#remember(key, content);
  };

  readonly #writeSmall = (key: string) => {
    const content = this.#random.bytes(this.#random.below(3000));
    return this.#write(key, content, () => this.#faulty.write(key, content));
  };

  readonly #writeParts = (key: string) => {
    if (this.#random.next() > 0.3) return this.#writeSmall(key);
    const content = Buffer.alloc(5_300_000 + this.#random.below(6_000_000), this.#random.bytes(64));
    return this.#write(key, content, () => this.#faulty.write(key, pieces(content), { concurrency: 2 }));
  };

  readonly #create = async (key: string) => {
    const content = this.#random.bytes(1 + this.#random.below(500));
    if (!this.expected.has(key)) {
      return this.#write(key, content, () => this.#faulty.write(key, content, { ifNoneMatch: "*" }));
    }
    const created = this.#faulty.write(key, content, { ifNoneMatch: "*" });
    await assert.rejects(created, (error) => isStorageError(error, "precondition", "network", "throttled"));
  };

  readonly #failWriting = async (key: string) => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(5_500_000);
      yield Buffer.alloc(5_500_000);
      throw new Error("the source broke");
    }
    if (this.#random.next() > 0.2) return this.#read(key);
    await assert.rejects(this.#faulty.write(key, failing()), (error) => {
      return isStorageError(error, "network", "throttled") || /the source broke/.test(String(error));
    });
  };

  readonly #read = async (key: string) => {
    const expected = this.expected.get(key);
    if (!expected) return assert.rejects(this.#faulty.read(key), isAbsence);
    const start = this.#random.below(expected.length + 1);
    const end = start + this.#random.below(expected.length + 1);
    const options = this.#random.pick([
      {},
      { start, end },
      { concurrency: 3, blockSize: 1 + (expected.length >> 2) },
      { start, end, concurrency: 3, blockSize: 700_001 },
    ]);
    const read = this.#random.next() < 0.5 ? this.#faulty.read(key, options) : collect(this.#faulty, key, options);
    const wanted = "start" in options ? expected.subarray(start, end) : expected;
    assert.ok(wanted.equals(await read), `${key} ${JSON.stringify(options)} has wrong bytes`);
  };

  /** Replaces an object during a read: all bytes are of one object, or the read reports the replacement. */
  readonly #replace = async (key: string) => {
    const before = this.#random.bytes(300_000);
    const later = this.#random.bytes(300_000);
    await this.#write(key, before, () => this.#plain.write(key, before));
    const reading = collect(this.#faulty, key, { concurrency: 2, blockSize: 50_000 }).catch((error: unknown) => error);
    await this.#write(key, later, () => this.#plain.write(key, later));
    const read = await reading;
    if (!Buffer.isBuffer(read)) assert.ok(isStorageError(read, "precondition", "network", "throttled"), String(read));
    else assert.ok(before.equals(read) || later.equals(read), `${key} has bytes of two objects`);
  };

  readonly #look = async (key: string) => {
    const expected = this.expected.get(key);
    if (expected) assert.equal((await this.#faulty.stat(key)).size, expected.length);
    else await assert.rejects(this.#faulty.stat(key), isAbsence);
  };

  readonly #list = async () => {
    const listed = await Array.fromAsync(this.#faulty.list({ prefix: `${this.#name}/`, recursive: true }));
    assert.deepEqual(listed.map(({ path }) => path).sort(), [...this.expected.keys()].sort());
  };

  readonly #copy = async (key: string) => {
    const from = this.#random.pick([...this.expected.keys()]);
    if (from === undefined) return;
    await this.#write(key, this.expected.get(from) as Buffer, () => this.#faulty.copy(from, key));
  };

  readonly #remove = async (key: string) => {
    this.#wanted = "removed";
    await this.#faulty.remove(key);
    this.#remember(key, undefined);
  };

  readonly #actions = [
    ...[this.#writeSmall, this.#writeSmall, this.#writeParts, this.#create, this.#failWriting],
    ...[this.#read, this.#read, this.#read, this.#replace, this.#look, this.#list, this.#copy, this.#remove],
  ];
}

const isAbsence = (error: unknown) => isStorageError(error, "not_found", "network", "throttled");

const collect = async (storage: Storage, key: string, options: object) =>
  Buffer.concat(await Array.fromAsync(storage.readStream(key, options)));

async function* pieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 1_000_000) yield content.subarray(at, at + 1_000_000);
}

describe(`${operations} operations through faults`, { skip, timeout: isLong ? 3_600_000 : 200_000 }, () => {
  let server: S3Server;
  let proxy: FaultProxy;
  let faulty: Storage;
  let plain: Storage;
  const lanes: Lane[] = [];
  before(async () => {
    server = await startVersitygw();
    await server.makeBucket(Bucket);
    proxy = await startFaultProxy(server.port, faultChooser(new Random(seed)));
    const { key, secret } = server.config;
    faulty = openStorage(`s3://${Bucket}`, {
      endpoint_url: proxy.url,
      // Renewed when the store reports that they have expired.
      token: () => ({ key, secret, expires_at: new Date(Date.now() + 3_600_000) }),
      config_kwargs: { read_timeout: 2, retries: { total_max_attempts: 8 } },
    });
    plain = openStorage(`s3://${Bucket}`, server.config);
    for (let lane = 0; lane < 8; lane += 1) {
      lanes.push(new Lane(`lane-${lane}`, faulty, plain, new Random(seed + lane + 1)));
    }
  });
  after(async () => {
    await Promise.all([faulty?.close(), plain?.close()]);
    await proxy?.stop();
    await server?.stop();
  });

  it("end with the right bytes or with an error", async (context) => {
    context.diagnostic(`MILLRACE_FAULTS_SEED=${seed}`);
    const steps = async (lane: Lane) => {
      for (let step = 0; step < operations / lanes.length; step += 1) await lane.step();
    };
    const ended = await Promise.allSettled(lanes.map(steps));
    const failed = lanes.reduce((sum, lane) => sum + lane.failed, 0);
    context.diagnostic(`${proxy.requests.length} requests, ${failed} operations failed and said so`);
    for (const end of ended) if (end.status === "rejected") throw end.reason;
    assert.ok(failed <= operations / 100, `${failed} operations failed`);
  });

  it("leave exactly the objects that were written", async () => {
    const expected = new Map(lanes.flatMap((lane) => [...lane.expected]));
    const listed = await Array.fromAsync(plain.list({ recursive: true }));
    assert.deepEqual(listed.map(({ path }) => path).sort(), [...expected.keys()].sort());
    for (const [key, content] of expected) assert.ok(content.equals(await plain.read(key)), key);
  });

  it("leave no upload behind", async () => {
    const { Uploads = [] } = await server.vendor.send(new ListMultipartUploadsCommand({ Bucket }));
    assert.deepEqual(Uploads, []);
  });
});
