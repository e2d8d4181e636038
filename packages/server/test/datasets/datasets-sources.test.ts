/** Listing of sources: what the client shows with `ls`. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { decode, ExtensionCodec } from "@msgpack/msgpack";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const codec = new ExtensionCodec();
codec.register({
  type: 42,
  encode: () => null,
  decode: (data) => {
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    return { seconds: view.getFloat64(0), offset: view.getInt32(8) };
  },
});

describe("listing a source", () => {
  let server: InProcessServer;
  let base: string;
  before(async () => {
    base = await mkdtemp(join(tmpdir(), "millrace-sources-"));
    await mkdir(join(base, "data/sub"), { recursive: true });
    await mkdir(join(base, "data-not"));
    await writeFile(join(base, "data/file.csv"), "12345");
    await writeFile(join(base, "data-not/secret"), "x");
    await utimes(join(base, "data/file.csv"), 1_700_000_000, 1_700_000_000);
    await symlink("../data-not", join(base, "data/out"));
    await symlink("file.csv", join(base, "data/in"));
    await symlink("/nowhere", join(base, "data/broken"));
    server = await startInProcess({ MILLRACE_JOB_PATHS: `${join(base, "data")}:ro` });
  });
  after(async () => {
    await server.dispose();
    await rm(base, { recursive: true, force: true });
  });

  const list = async (source: unknown, options: object = {}) => {
    const response = await server.fetch("/api/datachain/ls", { json: { team_name: "main", source }, ...options });
    assert.equal(response.headers.get("content-type"), "application/msgpack");
    const body = decode(await response.arrayBuffer(), { extensionCodec: codec }) as Record<string, unknown>;
    return { status: response.status, body };
  };

  it("shows files with their times, folders, and links that stay inside", async () => {
    const { status, body } = await list(`file://${base}/data`);
    assert.equal(status, 200);
    const file = { dir_type: 0, size: 5, last_modified: { seconds: 1_700_000_000, offset: 0 } };
    assert.deepEqual(body["data"], [
      { name: "file.csv", ...file },
      { name: "in", ...file },
      { name: "sub", dir_type: 1, last_modified: null, size: null },
    ]);
    assert.deepEqual((await list(`file://${base}/data/file.csv`)).body["data"], [{ name: "file.csv", ...file }]);
  });

  it("shows nothing outside the folders that jobs may use, whatever the path", async () => {
    for (const path of [
      "",
      "/data-not",
      "/data/../data-not",
      "/data/out",
      "/data/out/secret",
      "/data/nothing",
      "/data/broken",
    ]) {
      const { status, body } = await list(`file://${base}${path}`);
      assert.deepEqual([path, status, body["code"]], [path, 404, "not_found"]);
    }
    for (const path of ["/etc/passwd", "/proc/self/fd/0", "/dev/null", "/"])
      assert.equal((await list(`file://${path}`)).status, 404, path);
  });

  it("opens only files and folders: the writer of a pipe never notices", async () => {
    for (const path of [join(base, "data-not/pipe"), join(base, "data/sub/pipe")]) {
      await promisify(execFile)("mkfifo", [path]);
      const writer = spawn("sh", ["-c", `echo ready; echo untouched > '${path}'`]);
      await once(writer.stdout, "data");
      assert.equal((await list(`file://${path}`)).status, 404);
      const { stdout } = await promisify(execFile)("cat", [path], { timeout: 20_000 });
      assert.equal(stdout, "untouched\n");
      await rm(path);
    }
  });

  it("with more entries than one answer holds is refused", async () => {
    const full = join(base, "data/full");
    await mkdir(full);
    for (let index = 0; index <= 10_000; index++) writeFileSync(join(full, String(index)), "");
    const { status, body } = await list(`file://${full}`);
    assert.equal(status, 422);
    assert.match(String(body["message"]), /expected a folder with at most 10000 entries, but .* has more/);
    await rm(full, { recursive: true });
  });

  it("takes turns with other listings of the same caller, in both routes, because each is held in memory", async () => {
    const folder = join(base, "data/large");
    await mkdir(folder);
    for (let index = 0; index < 500; index++) writeFileSync(join(folder, `file-${index}`), "");
    let isDone = false;
    const source = `file://${folder}`;
    const asked = Array.from({ length: 12 }, (_, index) =>
      index % 2 === 0
        ? server.fetch("/api/datachain/ls", { json: { team_name: "main", source } })
        : server.fetch("/api/datachain/storage/list", { json: { team_name: "main", uri: source } }),
    );
    const all = Promise.all(asked).finally(() => {
      isDone = true;
    });
    let most = 0;
    while (!isDone) {
      const open = await Promise.all(
        (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
      );
      most = Math.max(most, open.filter((path) => path === folder).length);
    }
    for (const response of await all) assert.equal(response.status, 200);
    await rm(folder, { recursive: true });
    // A listing opens its folder twice: to check it, and to read it.
    assert.ok(most > 0 && most <= 4, `the folder was open ${most} times`);
  });

  it("refuses other storages and names the supported ones", async () => {
    for (const source of ["s3://bucket", "gs://bucket", "data", "file://data", "", "file:///a\0b"]) {
      const { status, body } = await list(source);
      assert.equal(status, 422, source);
      if (!source.includes("\0"))
        assert.match(String(body["message"]), new RegExp(`source: expected a folder below file://${base}/data`));
    }
  });

  it("returns every error in MessagePack", async () => {
    const unauthorized = await list("file:///", { token: "isat_wrong" });
    assert.deepEqual([unauthorized.status, unauthorized.body["code"]], [401, "unauthorized"]);
    assert.equal(unauthorized.body["detail"], unauthorized.body["message"]);
    assert.equal((await list(7)).status, 422);
    const headers = { "content-type": "application/json" };
    const broken = await server.fetch("/api/datachain/ls", { method: "POST", body: "{", headers });
    assert.equal(broken.status, 400);
    assert.match(String((decode(await broken.arrayBuffer()) as { message: string }).message), /not valid JSON/);
  });
});
