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
  it("by no other scheme", async () => {
    const others = `openStorage("s3://b", {}); openStorage("gs://b", {}); openStorage("az://b", { account_name: "a" });`;
    const program = `await openStorage("memory://x").write("a", "b"); ${others}`;
    assert.deepEqual(await packagesLoadedBy(program), []);
  });

  it("when its scheme is used, and its credential provider only when it is needed", async () => {
    const config = `{ endpoint_url: "http://127.0.0.1:1", key: "k", secret: "s", config_kwargs: { retries: { total_max_attempts: 1 } } }`;
    const program = `await openStorage("s3://bucket", ${config}).read("a").catch(() => {});`;
    assert.deepEqual(await packagesLoadedBy(program), ["undici"]);
  });

  it("only for identity on gs:// and az://, and not if a token or a key is given", async () => {
    const read = (uri: string, config: string) => `await openStorage("${uri}", ${config}).read("a").catch(() => {});`;
    const gs = (token: string) => read("gs://b", `{ endpoint_url: "http://127.0.0.1:1", token: ${token} }`);
    const az = (right: string) => read("az://b", `{ account_name: "a", account_host: "127.0.0.1:1", ${right} }`);
    assert.deepEqual(await packagesLoadedBy(gs('"t"') + az('account_key: "a"')), ["undici"]);
    // Both fail before anything is sent.
    const account = `{ type: "external_account", audience: "a", subject_token_type: "t", token_url: "http://127.0.0.1:1", credential_source: { file: "/none" } }`;
    const session = `request_session: { async sendRequest() { throw new Error("no network"); } }`;
    const principal = `client_id: "c", client_secret: "s", tenant_id: "t", ${session}`;
    const loaded = await packagesLoadedBy(gs(account) + az(principal));
    assert.deepEqual(loaded, ["@azure/identity", "google-auth-library", "undici"]);
  });

  it("when it implements the protocol of the server", async () => {
    const loadedBy = (uri: string) =>
      packagesLoadedBy(`await openStorage("${uri}", { timeout: 1 }).read("a").catch(() => {});`);
    assert.deepEqual(await loadedBy("sftp://127.0.0.1:1/x"), ["ssh2"]);
    assert.deepEqual(await loadedBy("ftp://127.0.0.1:1/x"), ["basic-ftp"]);
  });
});
