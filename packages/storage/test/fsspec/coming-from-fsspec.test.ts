/** Checks the statements of docs/coming-from-fsspec.md by running the Python originals and our library side by side. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { type ClientConfig, openStorage, type Storage } from "@millrace/storage";
import { runPython, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { type AzServer, startAzurite } from "@millrace/testing/servers/azurite.ts";
import { type HubServer, startHub, writerToken } from "../support/hub/server.ts";
import { type Answer, type RecordingServer, startRecordingServer } from "../support/recording-server.ts";

const skip = await whyNoPythonPackages();

/** Runs a script, and returns its JSON output. */
async function python<T>(script: string, environment: Readonly<Record<string, string>> = {}): Promise<T> {
  const env = { GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT: "false", ...environment };
  return JSON.parse(await runPython(`import json\n${script}`, env)) as T;
}

const opened: Storage[] = [];
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close();
});
function open(uri: string, config: ClientConfig, environment = {}): Storage {
  const storage = openStorage(uri, config, { environment });
  opened.push(storage);
  return storage;
}

const listingOf = async (storage: Storage) => Array.fromAsync(storage.list(), ({ path }) => path);

describe("s3fs and s3://", { skip, timeout: 120_000 }, () => {
  it("have different defaults: s3fs those of its newer releases, we those of the documentation", async () => {
    const script = `
import s3fs
fs = s3fs.S3FileSystem(anon=True)
print(json.dumps([fs.default_block_size, fs.max_concurrency, fs.version_aware]))`;
    assert.deepEqual(await python(script), [50 * 1024 * 1024, 10, false]);
    const shown = open("s3://bucket", { anon: true }).explainConfig();
    const values = ["default_block_size", "max_concurrency", "version_aware"].map(
      (name) => shown.find(({ key }) => key === name)?.value,
    );
    assert.deepEqual(values, [null, 1, false]);
  });

  it("count attempts alike: max_attempts excludes the first, total_max_attempts includes it", async () => {
    const script = `
import os, botocore.session, botocore.config
def attempts(retries):
    config = botocore.config.Config(retries=retries)
    client = botocore.session.Session().create_client("s3", region_name="r", config=config)
    return client.meta.config.retries.get("total_max_attempts")
print(json.dumps([attempts({"max_attempts": 2}), attempts({"total_max_attempts": 2, "max_attempts": 7})]))`;
    assert.deepEqual(await python(script), [3, 2]);
  });

  it("accept no version if version_aware is not true", async () => {
    const script = `
import s3fs
fs = s3fs.S3FileSystem(anon=True, endpoint_url="http://127.0.0.1:1")
try:
    fs.open("bucket/a", version_id="v")
except ValueError as error:
    print(json.dumps(str(error)))`;
    assert.match(await python(script), /version/);
    const storage = open("s3://bucket", { anon: true, endpoint_url: "http://127.0.0.1:1" });
    await assert.rejects(async () => storage.open("a", { version: "v" }), /version_aware/);
  });
});

describe("gcsfs and gs://", { skip, timeout: 240_000 }, () => {
  let server: RecordingServer;
  const resource = { name: "d/a", bucket: "bucket", size: "2", generation: "7", updated: "2026-01-01T00:00:00Z" };
  const answer: Answer = ({ path }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(path.endsWith("/o") ? { items: [resource] } : resource));
  };
  before(async () => {
    server = await startRecordingServer(answer);
  });
  after(() => server?.stop());
  afterEach(() => {
    server.requests.length = 0;
  });
  const fileSystem = (words: string) =>
    `import gcsfs\nfs = gcsfs.GCSFileSystem(token="anon", endpoint_url="${server.url}", ${words})`;
  const here = (config: ClientConfig = {}, environment = {}) =>
    open("gs://bucket", { endpoint_url: server.url, token: "anon", ...config }, environment);

  it("default to full_control for access and none for consistency", async () => {
    const script = `${fileSystem("")}\nprint(json.dumps([fs.credentials.access, fs.consistency]))`;
    assert.deepEqual(await python(script), ["full_control", "none"]);
  });

  it("cache a listing forever unless cache_timeout says otherwise", async () => {
    for (const [words, config, requests] of [
      ["", {}, 1],
      ["cache_timeout=0", { cache_timeout: 0 }, 2],
    ] as const) {
      const script = `${fileSystem(words)}\nfs.ls("bucket/d")\nfs.ls("bucket/d")\nprint("null")`;
      await python(script);
      assert.equal(server.requests.length, requests, "there");
      server.requests.length = 0;
      const storage = here(config);
      for (const _ of [1, 2]) assert.deepEqual(await listingOf(storage), ["d/a"]);
      assert.equal(server.requests.length, requests, "here");
      server.requests.length = 0;
    }
  });

  it("list again on refresh", async () => {
    await python(`${fileSystem("")}\nfs.ls("bucket/d")\nfs.ls("bucket/d", refresh=True)\nprint("null")`);
    assert.equal(server.requests.length, 2);
    const storage = here();
    await listingOf(storage);
    await Array.fromAsync(storage.list({ refresh: true }));
    assert.equal(server.requests.length, 4);
  });

  it("bill the project, or the given one; only we name a missing one", async () => {
    const payers = () => [...new Set(server.requests.splice(0).map(({ query }) => query.get("userProject")))];
    for (const [words, config, payer] of [
      ['requester_pays=True, project="p"', { requester_pays: true, project: "p" }, "p"],
      ['requester_pays="q", project="p"', { requester_pays: "q", project: "p" }, "q"],
    ] as const) {
      await python(`${fileSystem(words)}\nfs.ls("bucket/d")\nprint("null")`);
      assert.deepEqual(payers(), [payer], "there");
      await listingOf(here({ ...config, token: "t" }));
      assert.deepEqual(payers(), [payer], "here");
    }
    const unnamed = await python(`
${fileSystem("requester_pays=True, project=None")}
try:
    fs.ls("bucket/d")
    print(json.dumps("sent"))
except Exception as error:
    print(json.dumps(type(error).__name__))`);
    assert.equal(unnamed, "TypeError", "there");
    assert.throws(() => here({ requester_pays: true, token: "t" }), /project is missing/);
  });

  it("accept an emulator's address without its protocol, after endpoint_url", async () => {
    const environment = { STORAGE_EMULATOR_HOST: new URL(server.url).host };
    const script = `import gcsfs\nfs = gcsfs.GCSFileSystem(token="anon")\nfs.ls("bucket/d")\nprint("null")`;
    await python(script, environment);
    assert.equal(server.requests.length, 1);
    await listingOf(open("gs://bucket", { token: "anon" }, environment));
    assert.equal(server.requests.length, 2);
    const elsewhere = { STORAGE_EMULATOR_HOST: "127.0.0.1:1" };
    await python(`${fileSystem("")}\nfs.ls("bucket/d")\nprint("null")`, elsewhere);
    await listingOf(here({}, elsewhere));
    assert.equal(server.requests.length, 4);
  });

  it("accept secure_serialize; we refuse session options without a meaning on Node", async () => {
    const words = 'secure_serialize=False, session_kwargs={"trust_env": True, "json_serialize": json.dumps}';
    await python(`${fileSystem(words)}\nfs.ls("bucket/d")\nprint("null")`);
    here({ secure_serialize: false, session_kwargs: { trust_env: true } });
    assert.throws(
      () => here({ session_kwargs: { json_serialize: "x" } }),
      /session_kwargs\.json_serialize is not supported/,
    );
  });
});

describe("adlfs and az://", { skip, timeout: 240_000 }, () => {
  let server: AzServer;
  before(async () => {
    server = await startAzurite();
    const storage = openStorage("az://files", { connection_string: server.connection_string });
    await storage.createBucket();
    await storage.write("a", "0123456789");
    await storage.close();
  });
  after(() => server?.stop());

  it("differ: in adlfs, a connection string of the environment overrides a given account_key", async () => {
    const environment = { AZURE_STORAGE_CONNECTION_STRING: server.connection_string };
    const script = `
import adlfs
fs = adlfs.AzureBlobFileSystem(account_name="other", account_key="b3RoZXI=")
print(json.dumps([fs.service_client.account_name, fs.ls("files")]))`;
    assert.deepEqual(await python(script, environment), [server.account_name, ["files/a"]]);
    const storage = open("az://files", { account_name: "other", account_key: "b3RoZXI=" }, environment);
    assert.equal(new URL(await storage.presign("a")).host, "other.blob.core.windows.net");
  });

  it("transfer as many blocks at once as fsspec's batch size, unless configured", async () => {
    const script = `
import adlfs, fsspec.config, os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
of = lambda: adlfs.AzureBlobFileSystem(connection_string=os.environ["STRING"], skip_instance_cache=True).max_concurrency
usual = of()
fsspec.config.conf["gather_batch_size"] = 5
print(json.dumps([usual, of()]))`;
    assert.deepEqual(await python(script, { STRING: server.connection_string }), [128, 5]);
  });

  it("differ: adlfs reads ahead, whatever default_cache_type says", async () => {
    const script = `
import adlfs, os
fs = adlfs.AzureBlobFileSystem(connection_string=os.environ["STRING"], default_cache_type="all")
print(json.dumps([fs.default_cache_type, fs.open("files/a").cache.name]))`;
    assert.deepEqual(await python(script, { STRING: server.connection_string }), ["all", "readahead"]);
  });

  it("use anonymous access only if there are no credentials", async () => {
    const script = `
import adlfs
signed = adlfs.AzureBlobFileSystem(account_name="a", account_key="b3RoZXI=", anon=True)
plain = adlfs.AzureBlobFileSystem(account_name="a", anon=True)
print(json.dumps([signed.service_client.credential is not None, plain.service_client.credential is None]))`;
    assert.deepEqual(await python(script), [true, true]);
  });
});

describe("HfFileSystem and hf://", { skip, timeout: 120_000 }, () => {
  let hub: HubServer;
  before(async () => {
    hub = await startHub();
    hub.create("datasets", "team/data");
  });
  after(() => hub?.stop());

  it("differ: a URI without a type is a model in HfFileSystem, and a dataset here", async () => {
    const config = { endpoint: hub.url, token: writerToken };
    await open("hf://datasets/team/data", config).write("a.txt", "here");
    assert.equal(await open("hf://team/data", config).readText("a.txt"), "here");
    const script = `
from huggingface_hub import HfFileSystem
fs = HfFileSystem()
path = fs.resolve_path("datasets/team/data@main/a.txt")
try:
    bare = fs.resolve_path("team/data/a.txt").repo_type
except FileNotFoundError:
    bare = "no model of that name"
print(json.dumps([path.repo_type, path.revision, bare]))`;
    const environment = { HF_ENDPOINT: hub.url, HF_TOKEN: writerToken, HF_HUB_DISABLE_XET: "1" };
    assert.deepEqual(await python(script, environment), ["dataset", "main", "no model of that name"]);
  });
});
