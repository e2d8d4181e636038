/** Specific to the hub: names, commits, LFS contents, errors. The hub is our own; see support/hub. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  type ClientConfig,
  fromStorage,
  openStorage,
  type Storage,
  StorageError,
  syncTrees,
  toStorage,
} from "@millrace/storage";
import { pathsOf, rejectsWith } from "../conformance.ts";
import type { HubRepository } from "../support/hub/repository.ts";
import { type HubServer, readerToken, startHub, writerToken } from "../support/hub/server.ts";

let hub: HubServer;
let repository: HubRepository;
let storage: Storage;
let repositories = 0;

const open = (uri: string, config: ClientConfig = {}) =>
  openStorage(uri, { endpoint: hub.url, token: writerToken, ...config }, { environment: {} });

before(async () => {
  hub = await startHub();
});
after(() => hub?.stop());
beforeEach(() => {
  repositories += 1;
  repository = hub.create("datasets", `team/hub-${repositories}`);
  storage = open(`hf://datasets/${repository.id}`);
  hub.requests.length = 0;
  hub.intercept = undefined;
});

const sent = (method: string, part: string) =>
  hub.requests.filter((request) => request.method === method && request.url.includes(part));

describe("a URI of the hub", () => {
  it("names datasets, models and spaces", async () => {
    hub.create("models", "team/name");
    hub.create("datasets", "team/name");
    hub.create("spaces", "team/name");
    for (const prefix of ["datasets/", "models/", "spaces/"]) {
      await open(`hf://${prefix}team/name`).write("which", prefix);
      assert.equal(await open(`hf://${prefix}team/name/which`).readText(""), prefix);
    }
  });

  it("without a type is a dataset, or a model if there is no such dataset", async () => {
    hub.create("models", "team/both");
    hub.create("datasets", "team/both");
    hub.create("models", "team/only-model");
    await open("hf://team/both").write("a", "1");
    await open("hf://team/only-model").write("a", "2");
    assert.equal(await open("hf://datasets/team/both").readText("a"), "1");
    assert.equal(await open("hf://models/team/only-model").readText("a"), "2");
    await rejectsWith("not_found", open("hf://team/neither").read("a"));
  });

  it("accepts a revision: a branch, a commit, and those with slashes", async () => {
    await storage.write("a", "old");
    const commit = repository.at("main")?.id;
    repository.branch("refs/pr/7");
    repository.branch("with/slash");
    await storage.write("a", "new");
    const base = `hf://datasets/${repository.id}`;
    for (const revision of [commit, "refs/pr/7", "refs%2Fpr%2F7", "with%2Fslash"]) {
      assert.equal(await open(`${base}@${revision}/a`).readText(""), "old", `${revision}`);
    }
    assert.equal(await open(`${base}@main`).readText("a"), "new");
    await rejectsWith("not_found", open(`${base}@nowhere`).read("a"));
  });

  it("that names no repository is refused", () => {
    for (const uri of ["hf://", "hf://datasets", "hf://datasets/", "hf://buckets/team/name", "hf://@b/c"]) {
      assert.throws(() => openStorage(uri), /expected hf:|buckets of the hub are not supported/, uri);
    }
  });

  it("may be a name without a namespace, as old datasets have", async () => {
    hub.create("datasets", "old");
    await open("hf://old").write("folder/a", "1");
    for (const uri of ["hf://old", "hf://old/", "hf://datasets/old", "hf://datasets/old@main"]) {
      assert.equal(await open(uri).readText("folder/a"), "1", uri);
    }
    assert.equal(await open("hf://old@main/folder").readText("a"), "1");
    hub.rename("datasets", "old", "team/old");
    assert.equal(await open("hf://old").readText("folder/a"), "1", "the hub leads on to those that have one now");
  });

  it("of a renamed repository still works, also for writing", async () => {
    hub.create("datasets", "team/before");
    hub.rename("datasets", "team/before", "team/now");
    await open("hf://datasets/team/before").write("a", "1");
    assert.equal(await open("hf://datasets/team/now").readText("a"), "1");
  });
});

describe("a listing of the hub", () => {
  beforeEach(async () => {
    await storage.batch(async (batch) => {
      for (let index = 0; index < 23; index += 1) await batch.write(`folder/${index}`, "1");
    });
    hub.requests.length = 0;
  });

  it("follows the links to further pages", async () => {
    assert.equal((await pathsOf(storage.list({ prefix: "folder/" }))).length, 23);
    assert.equal(sent("GET", "/tree/").length, 5);
  });

  it("of a tree is of one commit, even if there are new commits meanwhile", async () => {
    const seen: string[] = [];
    for await (const { path } of storage.list({ recursive: true })) {
      if (seen.length === 0) await storage.remove("folder", { recursive: true });
      seen.push(path);
    }
    assert.equal(seen.length, 23);
  });

  it("has the commit and the time of the last change of each file", async () => {
    await storage.write("folder/5", "changed");
    const entries = await Array.fromAsync(storage.list({ recursive: true }));
    const versions = new Set(entries.map(({ version }) => version));
    assert.equal(versions.size, 2);
    assert.equal(entries.find(({ path }) => path === "folder/5")?.version, repository.at("main")?.id);
    assert.ok(entries.every(({ last_modified }) => last_modified instanceof Date));
  });
});

describe("reading from the hub", () => {
  const bytes = randomBytes(500_000);
  beforeEach(() => storage.write("big.bin", bytes));

  it("follows the redirect of a content, without sending the token there", async () => {
    assert.ok(bytes.equals(await storage.read("big.bin", { start: 0 })));
    const [download] = sent("GET", "/lfs/");
    assert.match(String(download?.headers.host), /^localhost/);
    assert.equal(download?.headers.authorization, undefined);
    assert.equal(sent("GET", "/resolve/")[0]?.headers.authorization, `Bearer ${writerToken}`);
  });

  it("has the hash of the content as ETag in listings, stat and writes", async () => {
    const written = await storage.write("big.bin", bytes);
    const [listed] = await Array.fromAsync(storage.list({ prefix: "big" }));
    assert.match(written.etag, /^[0-9a-f]{64}$/);
    assert.deepEqual([listed?.etag, (await storage.stat("big.bin")).etag], [written.etag, written.etag]);
    const small = await storage.write("small.txt", "text");
    assert.match(small.etag, /^[0-9a-f]{40}$/);
    assert.equal((await storage.stat("small.txt")).etag, small.etag);
  });

  it("in many ranges is of one commit, even if there are new commits meanwhile", async () => {
    let resolved = 0;
    hub.intercept = (request) => {
      resolved += request.url.includes("/resolve/") ? 1 : 0;
      if (resolved !== 2) return false;
      resolved += 1;
      const line = { key: "file", value: { path: "big.bin", content: "replaced" } } as const;
      repository.commit("main", [line], hub.objects.contents);
      return false;
    };
    assert.ok(bytes.equals(await storage.read("big.bin", { concurrency: 2, blockSize: 100_000 })));
    assert.equal(await storage.readText("big.bin"), "replaced");
  });

  it("accepts a commit as the version of a file", async () => {
    const { version } = await storage.stat("big.bin");
    await storage.write("big.bin", "other");
    assert.ok(bytes.equals(await storage.read("big.bin", { version })));
    assert.equal((await storage.stat("big.bin", { version })).size, bytes.length);
    await rejectsWith("unsupported", storage.remove("big.bin", { version }));
    await rejectsWith("unsupported", storage.remove("", { version, recursive: true }));
    assert.equal(await storage.readText("big.bin"), "other");
  });

  it("of a content other than the expected one is refused", async () => {
    const { etag } = await storage.stat("big.bin");
    assert.ok(await storage.read("big.bin", { ifMatch: etag }));
    await storage.write("big.bin", "other");
    await rejectsWith("precondition", storage.read("big.bin", { ifMatch: etag }));
  });
});

describe("writing to the hub", () => {
  it("puts text into the commit, and other contents into LFS, once", async () => {
    await storage.write("a.txt", "text");
    assert.equal(sent("PUT", "/lfs/").length, 0);
    await storage.write("b.bin", randomBytes(1000));
    await storage.copy("b.bin", "c.bin");
    assert.equal(sent("PUT", "/lfs/").length, 1);
    assert.deepEqual([...(repository.at("main")?.files.keys() ?? [])], ["a.txt", "b.bin", "c.bin"]);
  });

  it("sends large contents in parts, from bytes and from streams", async () => {
    const bytes = randomBytes(7_000_001);
    await storage.write("bytes.bin", bytes);
    assert.equal(sent("PUT", "/lfs/").length, 3);
    async function* pieces() {
      for (let start = 0; start < 20; start += 1) yield Buffer.alloc(500_000, start);
    }
    await storage.write("stream.bin", pieces());
    assert.equal(sent("PUT", "/lfs/").length, 7);
    assert.ok(bytes.equals(await storage.read("bytes.bin")));
    assert.equal((await storage.stat("stream.bin")).size, 10_000_000);
    for (const request of sent("PUT", "/lfs/")) assert.equal(request.headers.authorization, undefined);
  });

  it("does not upload content that the hub already has", async () => {
    const bytes = randomBytes(1000);
    await storage.write("a.bin", bytes);
    await storage.write("b.bin", bytes);
    assert.equal(sent("PUT", "/lfs/").length, 1);
  });

  it("creates one commit for each change, also for a move", async () => {
    await storage.write("a", "1");
    await storage.move("a", "b");
    await storage.remove("b");
    await storage.remove("b");
    assert.deepEqual(
      repository.commits.map(({ title }) => title),
      ["initial commit", "Upload a", "Move a to b", "Remove b"],
    );
  });

  it("in a batch creates one commit for everything, with its message", async () => {
    await storage.write("old", "1");
    await storage.batch(
      async (batch) => {
        await Promise.all(Array.from({ length: 20 }, (_, index) => batch.write(`new/${index}`, randomBytes(10))));
        await batch.remove("old");
        assert.equal(await batch.exists("new/0"), false);
      },
      { message: "An export" },
    );
    assert.equal(repository.commits.length, 3);
    assert.equal(repository.commits.at(-1)?.title, "An export");
    assert.equal(repository.at("main")?.files.size, 20);
  });

  it("in a batch combines changes of the same file", async () => {
    for (const path of ["kept", "tree/a", "tree/b"]) await storage.write(path, "old");
    await storage.batch(async (batch) => {
      await batch.write("passing", "1");
      await batch.remove("passing");
      await batch.write("tree/passing", "1");
      await batch.remove("tree", { recursive: true });
      await batch.write("tree/b", "new");
      await batch.remove("kept");
      await batch.write("kept", "new");
    });
    assert.deepEqual(await pathsOf(storage.list({ recursive: true })), ["kept", "tree/b"]);
    assert.equal(await storage.readText("tree/b"), "new");
    assert.equal(await storage.readText("kept"), "new");
  });

  it("in a batch that fails changes nothing", async () => {
    const failed = storage.batch(async (batch) => {
      await batch.write("a", "1");
      throw new Error("no");
    });
    await assert.rejects(failed, /^Error: no$/);
    assert.equal(repository.commits.length, 1);
  });

  it("with a condition is atomic against other commits, also in a batch", async () => {
    const { etag } = await storage.write("a", "1");
    let commits = 0;
    hub.intercept = (request) => {
      if (request.url.includes("/commit/") && commits++ === 0) {
        repository.commit("main", [{ key: "file", value: { path: "other", content: "x" } }], new Map());
      }
      return false;
    };
    await storage.write("a", "2", { ifMatch: etag });
    assert.equal(commits, 2);
    commits = 0;
    const batch = storage.batch((changes) => changes.write("new", "1", { ifNoneMatch: "*" }));
    await rejectsWith("precondition", batch);
  });

  it("creates a single commit for a synchronised tree", async () => {
    const source = openStorage("memory://hub-sync");
    for (const path of ["a", "b/c", "b/d"]) await source.write(path, path);
    await syncTrees(source, storage);
    assert.equal(repository.commits.length, 2);
    assert.deepEqual(await pathsOf(storage.list({ recursive: true })), ["a", "b/c", "b/d"]);
  });

  it("creates a single commit for exported files", async () => {
    const source = openStorage("memory://hub-export");
    for (const path of ["a", "b/c", "b/d"]) await source.write(path, path);
    const client_config = { endpoint: hub.url, token: writerToken };
    await toStorage(fromStorage("memory://hub-export/"), storage.uri, { client_config, placement: "filepath" });
    assert.deepEqual(
      repository.commits.map(({ title }) => title),
      ["initial commit", "Export"],
    );
    assert.equal(repository.at("main")?.files.size, 3);
  });

  it("refuses paths that git does not support", async () => {
    for (const path of ["a//b", "a/", "../a", ".git/config"]) await rejectsWith("invalid", storage.write(path, "x"));
  });
});

describe("an error of the hub", () => {
  const fails = async (code: string, config: ClientConfig, run: (opened: Storage) => Promise<unknown>) => {
    const opened = open(storage.uri, config);
    const error = await run(opened).then(
      () => assert.fail("it succeeded"),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof StorageError && error.code === code, String(error));
    return error;
  };

  it("names what is missing: the file, the revision, or the repository", async () => {
    const entry = await fails("not_found", {}, (opened) => opened.read("a"));
    assert.match(entry.message, /EntryNotFound/);
    assert.deepEqual([entry.bucket, entry.key, entry.requestId], [`datasets/${repository.id}`, "a", "Root=test"]);
    const missing = open("hf://datasets/team/absent");
    await assert.rejects(missing.read("a"), /RepoNotFound/);
    await assert.rejects(pathsOf(missing.list()), /RepoNotFound/);
    await assert.rejects(open("hf://datasets/team/absent", { token: false }).read("a"), /RepoNotFound/);
  });

  it("is permission for a wrong token, a read-only one, and a gated repository", async () => {
    await fails("permission", { token: "hf_wrong" }, (opened) => opened.read("a"));
    await fails("permission", { token: readerToken }, (opened) => opened.write("a", "1"));
    await fails("permission", { token: false }, (opened) => opened.write("a", "1"));
    hub.create("datasets", "team/gated", { isGated: true });
    const gated = open("hf://datasets/team/gated", { token: readerToken });
    await assert.rejects(gated.read("a"), /GatedRepo/);
    await rejectsWith("permission", gated.read("a"));
  });

  it("that is temporary is retried", async () => {
    await storage.write("a", "1");
    let refused = 0;
    hub.intercept = (_, response) => {
      if (refused >= 2) return false;
      refused += 1;
      response.writeHead(refused === 1 ? 503 : 429, { "retry-after": "0" }).end();
      return true;
    };
    assert.equal(await storage.readText("a"), "1");
    assert.equal(refused, 2);
  });
});
