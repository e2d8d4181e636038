/** Encryption at rest: the key ring, the key file, and a store with the wrong keys. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { pino } from "pino";
import { KeyFile, keyLocation, openKeys } from "../../src/admin/keys/key-file.ts";
import { rotateKey } from "../../src/admin/keys/key-rotation.ts";
import { startServer } from "../../src/app/server.ts";
import { type Config, readConfig } from "../../src/configuration/config.ts";
import { newJobToken, readJobToken } from "../../src/domain/secrets/job-tokens.ts";
import { KeyRing, keyIdOf } from "../../src/domain/secrets/key-ring.ts";
import { readFaults } from "../../src/machine/faults.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { startInProcess } from "../support/in-process.ts";
import { keyRing, randomKey } from "../support/keys.ts";

describe("an encrypted value", () => {
  const ring = keyRing();

  it("decrypts to the original, whatever it contains, and has a different ciphertext each time", () => {
    for (const text of ["x", "NAME=VALUE\nB='two\nlines'", "é\u{1f600}", "y".repeat(300_000)]) {
      assert.equal(ring.decrypt(ring.encrypt(text, "a"), "a"), text);
      assert.notEqual(ring.encrypt(text, "a"), ring.encrypt(text, "a"));
    }
  });

  it("names its key and cannot be mistaken for NAME=VALUE lines", () => {
    const value = ring.encrypt("secret", "a");
    assert.equal(keyIdOf(value), ring.currentId);
    assert.match(value, /^enc1\.[0-9a-f]{12}\.[\w-]+$/);
    for (const plain of ["", "A=1", "# enc1.", "\n", "enc1.0123456789ab=x"]) assert.equal(keyIdOf(plain), undefined);
  });

  it("that was moved to another row, or changed anywhere, is refused", () => {
    const value = ring.encrypt("secret", "jobs environment 1");
    assert.throws(() => ring.decrypt(value, "jobs environment 2"), /modified, or copied from another row/);
    for (let at = 18; at < value.length; at++) {
      const other = value[at] === "A" ? "B" : "A";
      assert.throws(() => ring.decrypt(value.slice(0, at) + other + value.slice(at + 1), "jobs environment 1"));
    }
    for (let length = 0; length < value.length; length++)
      assert.throws(() => ring.decrypt(value.slice(0, length), "jobs environment 1"));
  });

  it("is decrypted by any key of the ring, encrypted by the first, and by no other", () => {
    const [old, young] = [randomKey(), randomKey()];
    const value = keyRing(old).encrypt("secret", "a");
    const both = keyRing(young, old);
    assert.equal(both.decrypt(value, "a"), "secret");
    assert.equal(keyIdOf(both.encrypt("x", "a")), young.id);
    assert.throws(
      () => keyRing(young).decrypt(value, "a"),
      new RegExp(`the key ${old.id}, which this server does not`),
    );
  });
});

describe("a job's token", () => {
  const running = { jobId: "01900000-0000-7000-8000-000000000000", attempt: 2 };

  it("identifies its job, and a token that differs in one character does not", () => {
    const ring = keyRing();
    const token = newJobToken(ring, running);
    assert.match(token, /^isat_/);
    assert.deepEqual(readJobToken(ring, token), running);
    assert.equal(readJobToken(ring, token.replace("_2_", "_3_")), undefined);
    assert.equal(readJobToken(ring, token.replace("_2_", "_02_")), undefined);
    for (let at = 9; at < token.length; at++) {
      const other = token[at] === "0" ? "1" : "0";
      assert.equal(readJobToken(ring, token.slice(0, at) + other + token.slice(at + 1)), undefined);
    }
    assert.equal(readJobToken(keyRing(), token), undefined);
  });

  it("is valid while its key is in the ring, first or not", () => {
    const [old, young] = [randomKey(), randomKey()];
    const token = newJobToken(keyRing(old), running);
    assert.deepEqual(readJobToken(keyRing(young, old), token), running);
    assert.equal(readJobToken(keyRing(young), token), undefined);
  });
});

describe("the key file", () => {
  let folder: string;
  let path: string;
  const refuse = (error: Error) => {
    throw error;
  };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-keys-"));
    path = join(folder, "secret.key");
  });
  after(() => rm(folder, { recursive: true }));

  it("is created once, for its owner only, and leaves no temporary file", async () => {
    assert.equal(KeyFile.open(path, refuse), undefined);
    const first = KeyFile.create(path, refuse).first().id;
    assert.equal(KeyFile.create(path, refuse).first().id, first, "one that is there is used");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(folder), ["secret.key"]);
  });

  it("that others can read is refused, with the remedy", async () => {
    await chmod(path, 0o640);
    assert.throws(() => KeyFile.open(path, refuse), /Other users can read the key file.*chmod 600 .*rotate-key/);
    await chmod(path, 0o600);
  });

  it("that belongs to another user is refused", { skip: process.getuid?.() === 0 ? false : "needs root" }, async () => {
    await chown(path, 1, 1);
    assert.throws(() => KeyFile.open(path, refuse), /belongs to another user/);
    await chown(path, 0, 0);
  });

  it("with invalid content is refused without repeating it", async () => {
    const broken = join(folder, "broken");
    for (const text of ["", "\n\n", "half-of-a-key", `${randomBytes(31).toString("base64")}\n`]) {
      await writeFile(broken, text, { mode: 0o600 });
      assert.throws(
        () => KeyFile.open(broken, refuse),
        (error: Error) => /has no valid keys/.test(error.message) && !error.message.includes("half"),
      );
    }
  });

  it("that changes under a running server is noticed at once", async () => {
    const file = KeyFile.open(path, refuse) as KeyFile;
    const server = KeyFile.open(path, refuse) as KeyFile;
    const old = server.first().id;
    file.addKey();
    assert.notEqual(server.first().id, old);
    assert.equal(server.all()[1]?.id, old);
    file.keepFirst();
    assert.equal(server.all().length, 1);
  });

  it("that becomes unusable under a running server lets it read, but not write", async () => {
    const troubles: string[] = [];
    const file = KeyFile.open(path, (error) => troubles.push(error.message)) as KeyFile;
    const ring = new KeyRing(file);
    const value = ring.encrypt("secret", "a");
    await chmod(path, 0o644);
    assert.equal(ring.decrypt(value, "a"), "secret");
    assert.throws(() => ring.encrypt("secret", "a"), /Other users can read the key file/);
    assert.equal(troubles.length, 1);
    await chmod(path, 0o600);
    assert.equal(ring.decrypt(ring.encrypt("again", "a"), "a"), "again");
  });
});

describe("MILLRACE_SECRET_KEY", () => {
  it("is base64 or hex of 32 bytes, several separated by commas; anything else is refused and not repeated", () => {
    const bytes = randomBytes(32);
    const forms = [bytes.toString("base64"), bytes.toString("hex"), bytes.toString("base64url")];
    const { secretKey } = readConfig({}, { MILLRACE_SECRET_KEY: forms.join(",") }).keys;
    assert.deepEqual(secretKey, [bytes, bytes, bytes]);
    for (const bad of ["short", bytes.toString("hex").slice(1), `${forms[0]},oops`, "x".repeat(64)]) {
      assert.throws(
        () => readConfig({}, { MILLRACE_SECRET_KEY: bad }),
        (error: Error) =>
          /^MILLRACE_SECRET_KEY: expected keys of 32 bytes/.test(error.message) && !error.message.includes(bad),
      );
    }
  });
});

describe("a store", () => {
  const log = pino({ level: "silent" });
  const configOf = (dataDir: string, rest: Record<string, string> = {}): Config =>
    readConfig({}, { PATH: process.env["PATH"], MILLRACE_DATA_DIR: dataDir, MILLRACE_PORT: "0", ...rest });
  const keysOf = (dataDir: string, rest: Record<string, string> = {}) => keyLocation(configOf(dataDir, rest));
  const noFaults = readFaults("");
  const environment = "MARK=plain-value-of-an-older-version";

  it("whose key is missing is refused at the start, which names the key and creates no new one", async () => {
    const server = await startInProcess();
    await runJob(await server.client(), shell(":", { environment }));
    const path = join(server.dataDir, "secret.key");
    const { id } = (KeyFile.open(path, () => {}) as KeyFile).first();
    await server.stop();
    await rm(path);
    const refused = new RegExp(`encrypted with the key ${id}, and this server does not have it.*secret\\.key`);
    await assert.rejects(startServer(configOf(server.dataDir), log), refused);
    await assert.rejects(stat(path));
    const other = { MILLRACE_SECRET_KEY: randomBytes(32).toString("hex") };
    await assert.rejects(startServer(configOf(server.dataDir, other), log), refused);
    await rm(server.dataDir, { recursive: true });
  });

  it("of an older version with clear-text environments is encrypted before the server is ready, and keeps no trace", async () => {
    const server = await startInProcess();
    const client = await server.client();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await runJob(client, shell(":", { environment }))).job.id);
    await server.store.write((db) =>
      db
        .updateTable("jobs")
        .set({ environment: `${environment}\n# note` })
        .where("environment", "<>", "")
        .execute(),
    );
    await server.stop();
    const again = await startServer(configOf(server.dataDir), log);
    const rows = await again.store.db.selectFrom("jobs").select(["id", "environment"]).execute();
    for (const row of rows.filter(({ id }) => ids.includes(id))) assert.match(row.environment, /^enc1\./);
    const keys = await openKeys(keysOf(server.dataDir), again.store, () => {});
    assert.equal(keys.decrypt(rows[0]?.environment ?? "", `jobs environment ${rows[0]?.id}`), `${environment}\n# note`);
    await again.stop();
    for (const name of await readdir(server.dataDir)) {
      if (!name.startsWith("millrace.db")) continue;
      assert.ok(!(await readFile(join(server.dataDir, name))).includes("plain-value-of-an"), name);
    }
    await rm(server.dataDir, { recursive: true });
  });

  it("keeps the old key while a job from before runs, and a later rotation deletes the key", async () => {
    const server = await startInProcess();
    const config = keysOf(server.dataDir);
    const client = await server.client();
    await runJob(client, shell(":", { environment }));
    const before = await rotateKey(config, server.store, noFaults);
    assert.deepEqual([before.changed, before.finished, before.waitsForJobs], [1, true, 0]);
    await server.store.write((db) =>
      db
        .insertInto("attempts")
        .values({
          job_id: "x",
          team_id: 1,
          attempt: 1,
          cluster_id: 1,
          slots: 0,
          server_id: "elsewhere",
          boot_id: "",
          created_at: new Date().toISOString(),
          signalled_at: null,
        })
        .execute(),
    );
    const during = await rotateKey(config, server.store, noFaults);
    assert.deepEqual([during.changed, during.finished, during.waitsForJobs], [1, false, 1]);
    await server.store.write((db) => db.deleteFrom("attempts").where("job_id", "=", "x").execute());
    const later = await rotateKey(config, server.store, noFaults);
    assert.deepEqual([later.keyId, later.changed, later.finished], [during.keyId, 0, true]);
    await server.dispose();
  });

  it("with a value that no key decrypts keeps the old key, and names the location of the value", async () => {
    const server = await startInProcess();
    const { job } = await runJob(await server.client(), shell(":", { environment }));
    await server.store.write((db) =>
      db
        .updateTable("jobs")
        .set((eb) => ({ environment: eb.fn<string>("substr", ["environment", eb.lit(1), eb.lit(40)]) }))
        .where("id", "=", job.id)
        .execute(),
    );
    const result = await rotateKey(keysOf(server.dataDir), server.store, noFaults);
    assert.deepEqual([result.unreadable, result.finished], [[`jobs environment ${job.id}`], false]);
    await server.dispose();
  });

  it("with MILLRACE_SECRET_KEY is encrypted with the first given key", async () => {
    const [old, young] = [randomBytes(32).toString("base64"), randomBytes(32).toString("hex")];
    const server = await startInProcess({ MILLRACE_SECRET_KEY: old });
    const { job } = await runJob(await server.client(), shell(":", { environment }));
    await server.stop();
    const both = configOf(server.dataDir, { MILLRACE_SECRET_KEY: `${young},${old}` });
    const store = await openStore(storeIn(server.dataDir));
    const rotation = await rotateKey(keyLocation(both), store, noFaults);
    assert.deepEqual([rotation.changed, rotation.finished, rotation.where], [1, true, "MILLRACE_SECRET_KEY"]);
    const keys = await openKeys(keysOf(server.dataDir, { MILLRACE_SECRET_KEY: young }), store, () => {});
    const row = await store.db.selectFrom("jobs").select("environment").executeTakeFirstOrThrow();
    assert.equal(keys.decrypt(row.environment, `jobs environment ${job.id}`), environment);
    await store.close();
    await assert.rejects(stat(join(server.dataDir, "secret.key")), "no file is made where keys are given");
    await rm(server.dataDir, { recursive: true });
  });
});
