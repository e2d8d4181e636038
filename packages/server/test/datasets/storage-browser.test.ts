/** Browsing storage with a team's credentials: folders of this machine, and an object store. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { type Running, requireTurn } from "../../src/http/datasets/storage.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";

const modified = new Date("2026-01-01T00:00:00.000Z");

/** Starts a store whose bucket `pets` has a file and 600 folders. They are written as files, which is faster. */
async function startStore(): Promise<S3Server> {
  const store = await startVersitygw();
  const pets = join(store.data, await store.makeBucket("pets"));
  await writeFile(join(pets, "a.csv"), "12345");
  await utimes(join(pets, "a.csv"), modified, modified);
  for (let n = 0; n < 600; n++) {
    const folder = join(pets, `f${String(n).padStart(3, "0")}`);
    await mkdir(folder);
    await writeFile(join(folder, "b.csv"), "");
  }
  return store;
}

describe("browsing storage", { skip: await whyNoVersitygw() }, () => {
  let server: InProcessServer;
  let client: Client;
  let store: S3Server;
  let base: string;
  before(async () => {
    base = await mkdtemp(join(tmpdir(), "millrace-browser-"));
    await mkdir(join(base, "sub"));
    await writeFile(join(base, "file.csv"), "12345");
    store = await startStore();
    server = await startInProcess({ MILLRACE_JOB_PATHS: base, MILLRACE_STORAGE_NETWORKS: "127.0.0.1" });
    client = await server.client();
    const { endpoint_url: AWS_ENDPOINT_URL, key: AWS_ACCESS_KEY_ID, secret: AWS_SECRET_ACCESS_KEY } = store.config;
    const set = (name: string, values: Record<string, string>) =>
      client.call(routes.setTeamCredentials, { body: { name, values } });
    const good = { AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
    await set("good", good);
    await set("stranger", { ...good, AWS_ACCESS_KEY_ID: "nobody-knows-me" });
    await set("wrong", { ...good, AWS_SECRET_ACCESS_KEY: "hidden-value" });
    await set("half", { AWS_ENDPOINT_URL });
    await set("inside", { ...good, AWS_ENDPOINT_URL: "http://[::1]:9" });
  });
  after(async () => {
    await server.dispose();
    await store.stop();
    await rm(base, { recursive: true, force: true });
  });

  const browse = (uri: string, credentials_name?: string, cursor?: string) =>
    client.call(routes.browseStorage, {
      body: { uri, ...(credentials_name ? { credentials_name } : {}), ...(cursor ? { cursor } : {}) },
    });

  it("lists folders that jobs may use, and nothing outside", async () => {
    const { entries, next_cursor } = await browse(`file://${base}`);
    assert.deepEqual(
      entries.map(({ name, kind, size }) => [name, kind, size]),
      [
        ["file.csv", "file", 5],
        ["sub", "folder", null],
      ],
    );
    assert.equal(next_cursor, null);
    await refused(browse("file:///etc"), "not_found", /no file or folder at file:\/\/\/etc that jobs may use/);
  });

  it("lists an object store with credentials, in pages", async () => {
    const first = await browse("s3://pets/", "good");
    assert.deepEqual(first.entries[0], {
      name: "a.csv",
      kind: "file",
      size: 5,
      last_modified: modified.toISOString(),
    });
    assert.equal(first.entries.length, 500);
    const second = await browse("s3://pets/", "good", first.next_cursor ?? "");
    assert.deepEqual([second.entries.length, second.entries.at(-1)?.name, second.next_cursor], [101, "f599", null]);
  });

  it("lists folders in folders, whose names are text", async () => {
    const name = "100% <b>&amp; ü";
    await mkdir(join(store.data, "pets/f001", name));
    await writeFile(join(store.data, "pets/f001", name, "c d+e.csv"), "1");
    const outer = await browse("s3://pets/f001", "good");
    assert.deepEqual(
      outer.entries.map((entry) => [entry.name, entry.kind]),
      [
        [name, "folder"],
        ["b.csv", "file"],
      ],
    );
    const inner = await browse(`s3://pets/f001/${name}/`, "good");
    assert.deepEqual(
      inner.entries.map((entry) => entry.name),
      ["c d+e.csv"],
    );
  });

  it("says what is wrong with the credentials, without their values", async () => {
    await refused(browse("s3://pets", "wrong"), "wrong_state", /Check the values of the credentials wrong/);
    await refused(browse("s3://pets", "wrong"), "wrong_state", /^(?!.*hidden-value)/s);
    await refused(browse("s3://pets", "stranger"), "wrong_state", /Check the values of the credentials stranger/);
    await refused(browse("s3://pets", "half"), "wrong_state", /half have no AWS_ACCESS_KEY_ID and no AWS_SECRET/);
    await refused(browse("s3://pets", "none"), "invalid", /credentials_name.*good, half, inside, stranger, wrong/);
    await refused(browse("s3://other", "good"), "not_found", /nothing at s3:\/\/other/);
  });

  it("reaches no private address that the operator does not allow", async () => {
    await refused(browse("s3://pets", "inside"), "wrong_state", /private address.*MILLRACE_STORAGE_NETWORKS/);
  });

  it("refuses other schemes and chains", async () => {
    for (const uri of ["sftp://host/x", "zip://a::file:///etc/x.zip", "/etc", "s3:pets"])
      await refused(browse(uri), "invalid", /uri: expected a URI such as s3:\/\/bucket/);
  });
});

it("listings of a few people at slow storages leave a place for every other team", () => {
  const running = new Set<Running>();
  const begin = (userId: number, teamId: number) => {
    requireTurn(running, { userId, teamId });
    running.add({ userId, teamId });
  };
  // Four people of three teams take everything that they can get.
  for (const [user, team] of [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 1],
    [4, 2],
    [4, 3],
  ] as const)
    for (let times = 0; times < 4; times++)
      try {
        begin(user, team);
      } catch {}
  assert.equal(running.size, 12);
  assert.throws(() => begin(5, 1), { code: "too_many_requests" }, "their teams have no more");
  for (let team = 4; team < 16; team++) begin(team + 10, team);
  assert.throws(() => begin(6, 4), { code: "too_many_requests" }, "one for each");
  assert.throws(() => begin(99, 99), { code: "too_many_requests" }, "each is a process");
  assert.equal(running.size, 24);
});
