import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The packages that a program loads, beside Node's own and ours. */
async function packagesLoadedBy(program: string): Promise<string[]> {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ resolve(name, context, next) {
      const found = /^(@[^/]+\\/[^/]+|[^./:@][^/:]*)(\\/|$)/.exec(name)?.[1];
      if (found && context.parentURL?.includes("/packages/storage/src/")) loaded.add(found);
      return next(name, context);
    } });
    const { openStorage } = await import("@millrace/storage");
    ${program}
    console.log(JSON.stringify([...loaded].sort()));`;
  const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--input-type=module"];
  const { stdout } = await run(process.execPath, [...words, "--eval", script], { cwd: import.meta.dirname });
  return JSON.parse(stdout) as string[];
}

describe("a package of a vendor is loaded", () => {
  it("by no other kind of storage", async () => {
    const program = `await openStorage("memory://x").write("a", "b"); openStorage("s3://bucket", {});`;
    assert.deepEqual(await packagesLoadedBy(program), []);
  });

  it("when its kind is used, and its resolver of credentials only when it is asked", async () => {
    const config = `{ endpoint_url: "http://127.0.0.1:1", key: "k", secret: "s", config_kwargs: { retries: { max_attempts: 1 } } }`;
    const program = `await openStorage("s3://bucket", ${config}).read("a").catch(() => {});`;
    assert.deepEqual(await packagesLoadedBy(program), ["@smithy/signature-v4", "undici"]);
  });

  it("when it is the one that speaks to the server", async () => {
    const loadedBy = (uri: string) =>
      packagesLoadedBy(`await openStorage("${uri}", { timeout: 1 }).read("a").catch(() => {});`);
    assert.deepEqual(await loadedBy("sftp://127.0.0.1:1/x"), ["ssh2"]);
    assert.deepEqual(await loadedBy("ftp://127.0.0.1:1/x"), ["basic-ftp"]);
  });
});
