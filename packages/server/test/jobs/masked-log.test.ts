/** What leaves the server of a log: every byte of every secret is masked, wherever a read is cut. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Random } from "@millrace/testing/random.ts";
import { secretsOfEnvironment, spellings } from "../../src/domain/secrets/log-secrets.ts";
import { searchOf } from "../../src/job-logs/log-searches.ts";
import { MaskedLog, maskBytes } from "../../src/logs/masked-log.ts";
import { readPieces } from "../../src/logs/read-pieces.ts";
import type { JobSecretsRow } from "../../src/store/queries/jobs/jobs.ts";
import { keyRing } from "../support/keys.ts";

const buffers = (...texts: string[]) => texts.map((text) => Buffer.from(text));

/** A log that grows when the test says so. */
class GrowingLog {
  bytes = Buffer.alloc(0);
  append(text: string | Buffer) {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(text as string)]);
  }
  size = async () => this.bytes.length;
  read = async (offset: number, length: number) => this.bytes.subarray(offset, offset + length);
  close = async () => {};
}

const logOf = (bytes: Buffer | string) => {
  const log = new GrowingLog();
  log.append(bytes);
  return log;
};

/** The definition in its simplest, slowest form: a byte is hidden if it is part of a secret. */
function hide(bytes: Buffer, secrets: readonly Buffer[]): Buffer {
  const masked = Buffer.from(bytes);
  for (const secret of secrets) {
    for (let at = 0; at + secret.length <= bytes.length; at++) {
      if (bytes.subarray(at, at + secret.length).equals(secret)) masked.fill("*", at, at + secret.length);
    }
  }
  return masked;
}

const secrets = buffers("hunter2-hunter2", "er2-hun", "aaaaaa", "abcabcab", "läßt-es", "first line\nsecond line");
const text =
  "x hunter2-hunter2-hunter2 aaaaaaaaaa abcabcabcabcab läßt-es first line\nsecond line\nhunter2-hunte aaaaa\r\nabcabca";
const log = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0x00, 0x6c, 0xc3]), Buffer.from("aaaaaa")]);

describe("a masked log", () => {
  const whole = hide(log, secrets);

  it("has a star for every byte of a secret, even if secrets overlap, and every other byte unchanged", async () => {
    assert.deepEqual(maskBytes(log, secrets), whole);
    assert.equal(whole.length, log.length);
    assert.equal(maskBytes(Buffer.from("nothing here"), secrets).toString(), "nothing here");
    assert.equal(hide(Buffer.from("x hunter2-hunter2-hunter2 y"), secrets).toString(), `x ${"*".repeat(23)} y`);
  });

  it("is masked by many secrets in the same way as by a few", () => {
    const random = new Random(11);
    const letters = (length: number) => Buffer.from(Array.from({ length }, () => random.pick([97, 98])));
    for (let round = 0; round < 200; round++) {
      const many = Array.from({ length: 17 + random.below(30) }, () => letters(1 + random.below(12)));
      const bytes = letters(random.below(300));
      assert.deepEqual(maskBytes(bytes, many), hide(bytes, many));
    }
  });

  it("recognises a long secret by its first 250 bytes", async () => {
    const secret = new Random(3).bytes(1000);
    const bytes = Buffer.concat([
      Buffer.from("x"),
      secret,
      Buffer.from("y"),
      secret.subarray(0, 249),
      Buffer.from("z"),
    ]);
    const hidden = Buffer.concat([Buffer.from("x"), Buffer.alloc(1000, "*"), Buffer.from("y")]);
    const whole = Buffer.concat([hidden, secret.subarray(0, 249), Buffer.from("z")]);
    assert.deepEqual(maskBytes(bytes, [secret]), whole);
    const masked = new MaskedLog(logOf(bytes), [secret], true);
    for (let start = 0; start < bytes.length; start += 97)
      assert.deepEqual(await masked.read(start, 97), whole.subarray(start, start + 97));
    const growing = new MaskedLog(logOf(Buffer.concat([Buffer.from("x"), secret.subarray(0, 249)])), [secret], false);
    assert.equal(await growing.size(), 1, "the beginning of a secret is held back");
  });

  it("is searched once for all secrets if they are long or many: repetitions cost no more", (t) => {
    const search = t.mock.method(Buffer.prototype, "indexOf");
    const long = Buffer.from(`${"a".repeat(50_000)}b${"a".repeat(49_999)}`);
    assert.equal(maskBytes(Buffer.alloc(170_000, "a"), [long]).indexOf("*"), 0);
    assert.equal(search.mock.callCount(), 1, "only the search of this test");
  });

  it("is the same whichever part of it is read", async () => {
    const masked = new MaskedLog(logOf(log), secrets, true);
    for (let start = 0; start <= log.length + 2; start++) {
      for (let end = start; end <= log.length + 2; end++) {
        const part = await masked.read(start, end - start);
        assert.ok(part.equals(whole.subarray(start, end)), `${start}-${end}`);
      }
    }
  });

  it("is the same in pieces from any start", async () => {
    const masked = new MaskedLog(logOf(log), secrets, true);
    for (let start = 0; start < log.length; start++) {
      const batch = await readPieces(masked, start, true);
      assert.equal(batch.pieces.map((p) => p.message).join(""), whole.toString("utf8", start));
    }
  });

  it("shows nothing of a secret across the boundary of 64 KiB pieces", async () => {
    const secret = "S3cr3t-over-the-edge";
    for (let before = 65_536 - secret.length - 1; before <= 65_537; before++) {
      const bytes = Buffer.from(`${"x".repeat(before)}${secret}${"y".repeat(100)}\n`);
      const masked = new MaskedLog(logOf(bytes), buffers(secret), true);
      let shown = "";
      for (let offset = 0, finished = false; !finished; ) {
        const batch = await readPieces(masked, offset, true, { maxPieces: 1 });
        shown += batch.pieces.map((p) => p.message).join("");
        ({ next: offset, finished } = batch);
      }
      assert.equal(shown, bytes.toString().replace(secret, "*".repeat(secret.length)));
    }
  });

  it("that is cut at any byte and resumed there never shows the beginning of a secret, and loses nothing", async () => {
    for (let cut = 0; cut <= log.length; cut++) {
      const growing = logOf(log.subarray(0, cut));
      const masked = new MaskedLog(growing, secrets, false);
      const size = await masked.size();
      const early = await masked.read(0, 10_000);
      assert.equal(early.length, size, "reading stops where the size says");
      assert.ok(early.equals(whole.subarray(0, size)), `cut at ${cut}: what is shown is final`);
      growing.append(log.subarray(cut));
      masked.end();
      assert.equal(await masked.size(), log.length);
      assert.ok(Buffer.concat([early, await masked.read(size, 10_000)]).equals(whole));
    }
  });

  it("that grows byte by byte shows its final bytes, and holds back only what may become a secret", async () => {
    const growing = new GrowingLog();
    const masked = new MaskedLog(growing, secrets, false);
    let shown = Buffer.alloc(0);
    for (const byte of log) {
      growing.append(Buffer.from([byte]));
      shown = Buffer.concat([shown, await masked.read(shown.length, 1000)]);
      const held = growing.bytes.subarray(shown.length);
      assert.ok(
        held.length === 0 || secrets.some((s) => s.length > held.length && s.subarray(0, held.length).equals(held)),
      );
    }
    masked.end();
    assert.ok(Buffer.concat([shown, await masked.read(shown.length, 1000)]).equals(whole));
  });

  it("of random bytes with random secrets matches the definition", async () => {
    let state = 42;
    const random = (below: number) => {
      state = (state * 1103515245 + 12345) % 2 ** 31;
      return state % below;
    };
    for (let round = 0; round < 300; round++) {
      const few = () => Buffer.from(Array.from({ length: 1 + random(6) }, () => 97 + random(2)));
      const some = [few(), few(), few()];
      const bytes = Buffer.from(Array.from({ length: 60 }, () => 97 + random(2)));
      assert.ok(maskBytes(bytes, some).equals(hide(bytes, some)), `${some.join(" ")} in ${bytes}`);
      const start = random(60);
      const part = await new MaskedLog(logOf(bytes), some, true).read(start, 7);
      assert.ok(part.equals(hide(bytes, some).subarray(start, start + 7)));
    }
  });

  it("of one repeated letter, with a long secret of that letter, is searched in steps of the secret's length", {
    timeout: 30_000,
  }, () => {
    const letter = Buffer.alloc(10_000_000, "a");
    assert.ok(maskBytes(letter, [Buffer.alloc(60_000, "a")]).equals(Buffer.alloc(letter.length, "*")));
  });
});

describe("secrets of a job", () => {
  const found = (environment: string) => secretsOfEnvironment(environment);

  it("are values with telling names", () => {
    for (const name of ["API_KEY", "APIKEY", "MY_TOKEN", "DB_PASSWORD", "PGPASSWD", "GPG_PASSPHRASE", "client_secret"])
      assert.deepEqual(found(`${name}=short1`), ["short1"], name);
    for (const name of [
      "AZURE_SAS",
      "SENTRY_DSN",
      "BASIC_AUTH",
      "GCP_CREDENTIALS",
      "PRIVATE_PEM",
      "SB_CONNECTION_STRING",
    ])
      assert.deepEqual(found(`${name}=short1`), ["short1"], name);
    for (const name of ["KEYBOARD", "AUTHOR", "REGION", "PATH_TO", "COMPASS"])
      assert.deepEqual(found(`${name}=value1`), [], name);
  });

  it("are values that look like tokens, and URLs with a password", () => {
    assert.deepEqual(found("A=ghp0123456789abcdef"), ["ghp0123456789abcdef"]);
    assert.deepEqual(found("A=onlyletterswithoutdigits"), []);
    assert.deepEqual(found("A=/data/2024/input/files"), []);
    assert.deepEqual(found("A=postgres://me:pass1word@db/x"), ["postgres://me:pass1word@db/x", "pass1word"]);
    assert.deepEqual(found("A=amqp://a:b:c/d@x y"), ["amqp://a:b:c/d@x y", "c/d"]);
    for (const none of ["s3://bucket/a:b@c", "x://user@host", "x://:@host", "no url:word@x"])
      assert.deepEqual(found(`A=${none}`), [], none);
    // A pattern that tried every colon to the end would take forever.
    assert.deepEqual(found(`A=a://${":".repeat(2_000_000)}`), []);
    assert.deepEqual(found('A="-----BEGIN X-----\nabc"'), ["-----BEGIN X-----\nabc"]);
    assert.deepEqual(found("A=two words 1234567890"), []);
  });

  it("are found in plain form, line by line, in JSON, and percent-encoded; never if shorter than 6 bytes", () => {
    const spelled = (value: string) => spellings([value]).map(String);
    assert.deepEqual(spelled("plain-value"), ["plain-value"]);
    assert.deepEqual(spelled("five5"), []);
    assert.ok(spelled('quo"ted\\').includes('quo\\"ted\\\\'));
    const url = spelled("a b/c+d!é");
    for (const form of [
      "a b/c+d!é",
      "a%20b%2Fc%2Bd!%C3%A9",
      "a%20b/c%2Bd%21%C3%A9",
      "a+b%2Fc%2Bd%21%C3%A9",
      "a b/c+d!\\u00e9",
    ])
      assert.ok(url.includes(form), form);
    const lines = spelled("-----BEGIN-----\nMIIEvQIBADANBg\nshort\n-----END-----");
    assert.ok(lines.includes("MIIEvQIBADANBg") && lines.includes("-----END-----") && !lines.includes("short"));
    assert.ok(lines.some((line) => line.includes("\n")) && lines.some((line) => line.includes("\\n")));
    assert.doesNotThrow(() => spellings(["lone \ud800 surrogate"]));
  });

  it("are bounded in number, so that no job's settings block the server", () => {
    const many = [...Array(30_000).keys()].map((n) => `line-${n} é/!`).join("\n");
    const found = spellings([many, "a-value-of-its-own-1"]);
    assert.ok(found.length <= 2100, String(found.length));
    assert.ok(found.some((bytes) => bytes.equals(Buffer.from("a-value-of-its-own-1"))));
    assert.equal(maskBytes(Buffer.from("x".repeat(100)), found).length, 100);
  });
});

describe("the matcher for the secrets of an attempt", () => {
  const row = (id: string, attempt: number) => ({ id, attempt, environment: "", secrets: "" }) as JobSecretsRow;

  it("is built once for all readers of its log, and is different for another attempt or other keys", async () => {
    const keys = keyRing();
    const all = await Promise.all(Array.from({ length: 50 }, () => searchOf(keys, row("one", 1))));
    assert.equal(new Set(all).size, 1);
    assert.equal(await searchOf(keys, row("one", 1)), all[0]);
    for (const other of [
      searchOf(keys, row("one", 2)),
      searchOf(keys, row("two", 1)),
      searchOf(keyRing(), row("one", 1)),
    ])
      assert.notEqual(await other, all[0]);
    for (let index = 0; index < 20; index++) await searchOf(keys, row(`job ${index}`, 1));
    assert.notEqual(await searchOf(keys, row("one", 1)), all[0], "few are kept");
  });
});
