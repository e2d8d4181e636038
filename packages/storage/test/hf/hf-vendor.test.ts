/** The hub's official clients read what we write, and we read what they write. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { downloadFile, listFiles, uploadFiles } from "@huggingface/hub";
import { openStorage, type Storage } from "@millrace/storage";
import { runPython, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { pathsOf } from "../conformance.ts";
import { type HubServer, startHub, writerToken } from "../support/hub/server.ts";

const skip = await whyNoPythonPackages();
const big = randomBytes(7_000_001);
const contents: Readonly<Record<string, Buffer>> = {
  "a b/ü+%#?.txt": Buffer.from("text"),
  "a b/empty": Buffer.alloc(0),
  "data/big.bin": big,
};
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let hub: HubServer;
before(async () => {
  hub = await startHub();
});
after(() => hub?.stop());

function openNew(name: string): Storage {
  hub.create("datasets", `team/${name}`);
  return openStorage(`hf://datasets/team/${name}`, { endpoint: hub.url, token: writerToken });
}

async function writeAll(storage: Storage): Promise<void> {
  await storage.batch(async (batch) => {
    for (const [path, bytes] of Object.entries(contents)) await batch.write(path, bytes);
  });
}

async function readAll(storage: Storage): Promise<void> {
  assert.deepEqual(await pathsOf(storage.list({ recursive: true })), Object.keys(contents).sort());
  for (const [path, bytes] of Object.entries(contents)) {
    assert.ok(bytes.equals(await storage.read(path)), path);
    assert.equal((await storage.stat(path)).size, bytes.length);
  }
}

describe("the hub's client for Node", () => {
  const repo = (name: string) =>
    ({ repo: { type: "dataset", name: `team/${name}` }, hubUrl: hub.url, accessToken: writerToken }) as const;

  it("reads what we write", async () => {
    await writeAll(openNew("ours-node"));
    const common = repo("ours-node");
    const files = await Array.fromAsync(listFiles({ ...common, recursive: true }));
    const paths = files.filter(({ type }) => type === "file").map(({ path }) => path);
    assert.deepEqual(paths.sort(), Object.keys(contents).sort());
    for (const [path, bytes] of Object.entries(contents)) {
      // The client does not encode paths, and requests the first byte of an empty file.
      if (bytes.length === 0) continue;
      const blob = await downloadFile({ ...common, path: encodeURI(path).replaceAll(/[#?]/g, encodeURIComponent) });
      assert.ok(bytes.equals(Buffer.from((await blob?.arrayBuffer()) as ArrayBuffer)), path);
    }
  });

  it("writes what we read", async () => {
    const storage = openNew("theirs-node");
    const files = Object.entries(contents).map(([path, bytes]) => ({
      path,
      content: new Blob([new Uint8Array(bytes)]),
    }));
    await uploadFiles({ ...repo("theirs-node"), files, useXet: false });
    await readAll(storage);
  });
});

describe("the hub's client for Python", { skip }, () => {
  const environment = () => ({ HF_ENDPOINT: hub.url, HF_TOKEN: writerToken, HF_HUB_DISABLE_XET: "1" });

  it("reads what we write", async () => {
    await writeAll(openNew("ours-python"));
    const script = `
import hashlib, json
from huggingface_hub import HfFileSystem
fs = HfFileSystem()
root = "datasets/team/ours-python/"
print(json.dumps({p[len(root):]: hashlib.sha256(fs.cat_file(p)).hexdigest() for p in fs.find(root)}))
`;
    const expected = Object.entries(contents).map(([path, bytes]) => [path, digest(bytes)]);
    assert.deepEqual(JSON.parse(await runPython(script, environment())), Object.fromEntries(expected));
  });

  it("writes what we read", async () => {
    const storage = openNew("theirs-python");
    const script = `
import base64, json, sys
from huggingface_hub import HfApi, CommitOperationAdd
contents = json.loads(sys.stdin.read())
operations = [CommitOperationAdd(path, base64.b64decode(text)) for path, text in contents.items()]
HfApi().create_commit("team/theirs-python", operations, commit_message="theirs", repo_type="dataset")
`;
    const input = Object.fromEntries(Object.entries(contents).map(([path, bytes]) => [path, bytes.toString("base64")]));
    await runPython(script, environment(), JSON.stringify(input));
    await readAll(storage);
  });
});
