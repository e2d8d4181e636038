/** The storage package of `npm pack` works in an empty project, also on plain Node 22 and 24. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { startPreparedStore } from "@millrace/testing/objects/prepared-store.ts";
import { pythonProgram, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { repository } from "@millrace/testing/repository.ts";
import { whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { olderNode } from "./support/older-node.ts";
import { packedProject } from "./support/packed.ts";

const run = promisify(execFile);
const skip = await whyNoVersitygw();
const noPython = await whyNoPythonPackages();
const skipListing = await whyNoNginx();

/** Writes, lists and reads back, at each of the given URIs with its configuration. */
const usingScript = `
import assert from "node:assert/strict";
import { isStorageError, openStorage } from "@millrace/storage";

const bytes = Buffer.alloc(6_000_000, "content");
for (const [uri, config] of JSON.parse(process.argv[2])) {
  const storage = openStorage(uri, config);
  await storage.write("folder/small", "small");
  await storage.write("folder/big", (async function* () { yield bytes; })());
  const entries = await Array.fromAsync(storage.list({ recursive: true }));
  assert.deepEqual(entries.map(({ path, size }) => [path, size]).sort(), [["folder/big", bytes.length], ["folder/small", 5]]);
  assert.ok(bytes.equals(await storage.read("folder/big")));
  assert.equal(Buffer.from(await storage.read("folder/small", { start: 1, end: 3 })).toString(), "ma");
  await storage.remove("folder", { recursive: true });
  await assert.rejects(storage.read("folder/small"), (error) => isStorageError(error, "not_found"));
  await storage.close();
  console.log(process.version.split(".")[0], storage.scheme);
}
`;

/** Packages that are loaded, beside Node's own modules, when files are written, and then when a bucket is read. */
const loadingScript = `
import { registerHooks } from "node:module";
const loaded = new Set();
registerHooks({ resolve(name, context, next) {
  if (context.parentURL?.includes("@millrace/storage/") && !/^(\\.|node:)/.test(name)) loaded.add(name);
  return next(name, context);
} });
const { openStorage } = await import("@millrace/storage");
await openStorage("memory://x").write("a", "b");
const before = [...loaded];
await openStorage("s3://bucket", { anon: true, endpoint_url: "http://127.0.0.1:1", config_kwargs: { retries: { max_attempts: 1 } } }).read("a").catch(() => {});
console.log(JSON.stringify([before, [...loaded].sort()]));
`;

const listingScript = `
import { openStorage } from "@millrace/storage";
const storage = openStorage("s3://bucket", JSON.parse(process.argv[2]));
let count = 0;
for await (const _ of storage.list({ recursive: true, ordered: process.argv[3] === "ordered" })) count += 1;
await storage.close();
console.log(JSON.stringify([count, (process.resourceUsage().maxRSS * 1024) / 1_000_000]));
`;

describe("the storage library that npm pack creates", { skip, timeout: 300_000 }, () => {
  let folder: string;
  let server: S3Server;
  before(async () => {
    folder = await packedProject("storage");
    await writeFile(join(folder, "use.js"), usingScript);
    await writeFile(join(folder, "loading.js"), loadingScript);
    await writeFile(join(folder, "listing.js"), listingScript);
    server = await startVersitygw();
  });
  after(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  for (const version of ["22.23.3", "24.21.0"]) {
    it(`lists, reads and writes on Node ${version}`, async () => {
      const major = version.split(".")[0];
      const bucket = await server.makeBucket(`bucket-${major}`);
      const places = [
        [join(folder, "files"), {}],
        ["memory://place", {}],
        [`s3://${bucket}/below`, server.config],
      ];
      const { stdout } = await run(await olderNode(version), ["use.js", JSON.stringify(places)], { cwd: folder });
      assert.deepEqual(stdout.trim().split("\n"), [`v${major} file`, `v${major} memory`, `v${major} s3`]);
    });
  }

  it("contains the Python files of the bridge to fsspec, and finds them", { skip: noPython }, async () => {
    const place = [`fsspec+local://${join(folder, "bridged")}`, {}];
    const env = { ...process.env, MILLRACE_FSSPEC_PYTHON: pythonProgram("python") };
    const words = ["use.js", JSON.stringify([place])];
    const { stdout } = await run(await olderNode("22.23.3"), words, { cwd: folder, env });
    assert.equal(stdout, "v22 fsspec+local\n");
  });

  /** nginx with prepared pages replaces a real server, which would take minutes. */
  for (const order of ["ordered", "unordered"]) {
    it(`lists a million keys, ${order}, in at most 200 MB of memory`, { skip: skipListing }, async () => {
      const store = await startPreparedStore({ folders: 1000 });
      try {
        const words = ["listing.js", JSON.stringify(store.config), order];
        const { stdout } = await run(await olderNode("24.21.0"), words, { cwd: folder });
        const [count, megabytes] = JSON.parse(stdout) as [number, number];
        assert.equal(count, 1_000_000);
        assert.ok(megabytes <= 200, `${megabytes} MB`);
      } finally {
        await store.stop();
      }
    });
  }

  it("loads the implementation of a scheme, and its dependencies, at its first use", async () => {
    const { stdout } = await run(await olderNode("22.23.3"), ["loading.js"], { cwd: folder });
    assert.deepEqual(JSON.parse(stdout), [[], ["undici"]]);
  });

  it("keeps unused parts out of a bundle", async () => {
    await writeFile(
      join(folder, "little.js"),
      `import { StorageError } from "@millrace/storage"; console.log(StorageError);`,
    );
    // It has native code, which cannot be bundled.
    const kind = ["--bundle", "--splitting", "--format=esm", "--platform=node", "--external:ssh2"];
    const words = ["little.js", ...kind, "--outdir=bundle"];
    await run(join(repository, "node_modules/.bin/esbuild"), words, { cwd: folder });
    const bundle = await readFile(join(folder, "bundle/little.js"), "utf8");
    assert.ok(bundle.includes("StorageError") && bundle.length < 10_000, `${bundle.length} bytes`);
    assert.ok(!bundle.includes("import("), "it loads what it does not use");
  });

  it("has types that a strict project can use", async () => {
    const text = `import { openStorage, type Entry } from "@millrace/storage";
const storage = openStorage("s3://bucket", { key: "k", secret: "s" });
export const all = (): Promise<Entry[]> => Array.fromAsync(storage.list({ recursive: true }));
export const web = async () => [new Blob([await storage.read("a")]), new Response(storage.readStream("a"))];
// @ts-expect-error a path is a string
export const wrong = () => storage.read(1);
`;
    await writeFile(join(folder, "use-types.ts"), text);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext", "--types", ""];
    const tsc = join(repository, "node_modules/.bin/tsc");
    await run(tsc, [...options, "use-types.ts"], { cwd: folder });
  });
});
