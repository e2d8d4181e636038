/** Both official clients accept our own hub: they read back what they write there. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { deleteFile, downloadFile, fileExists, listFiles, pathsInfo, uploadFiles } from "@huggingface/hub";
import { runPython, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { type HubServer, startHub, writerToken } from "../support/hub/server.ts";

const skip = await whyNoPythonPackages();
let hub: HubServer;
before(async () => {
  hub = await startHub();
});
after(() => hub?.stop());

const big = randomBytes(7_000_001);

describe("our own hub for tests", () => {
  it("is accepted by the official client for Node", async () => {
    const repository = hub.create("datasets", "team/node");
    const common = { repo: { type: "dataset", name: "team/node" }, hubUrl: hub.url, accessToken: writerToken } as const;
    const files = [
      { path: "notes/a b.txt", content: new Blob(["small"]) },
      { path: "big.bin", content: new Blob([big]) },
    ];
    await uploadFiles({ ...common, files, useXet: false });
    assert.equal(repository.commits.length, 2);
    const listed = await Array.fromAsync(listFiles({ ...common, recursive: true, expand: true }), ({ path }) => path);
    assert.deepEqual(listed.sort(), ["big.bin", "notes", "notes/a b.txt"]);
    assert.equal((await pathsInfo({ ...common, paths: ["big.bin"] }))[0]?.lfs?.size, big.length);
    const blob = await downloadFile({ ...common, path: "big.bin" });
    assert.ok(big.equals(Buffer.from((await blob?.arrayBuffer()) as ArrayBuffer)));
    await deleteFile({ ...common, path: "big.bin" });
    assert.equal(await fileExists({ ...common, path: "big.bin" }), false);
  });

  it("is accepted by the official client for Python", { skip }, async () => {
    hub.create("datasets", "team/python");
    const script = `
import os
from huggingface_hub import HfFileSystem, HfApi
fs = HfFileSystem()
root = "datasets/team/python"
with fs.open(root + "/notes/a b.txt", "w") as f: f.write("small")
big = bytes(range(256)) * 30000
HfApi().upload_file(path_or_fileobj=big, path_in_repo="big.bin", repo_id="team/python", repo_type="dataset")
fs.invalidate_cache()
assert sorted(fs.find(root)) == [root + "/big.bin", root + "/notes/a b.txt"], fs.find(root)
assert fs.cat_file(root + "/big.bin") == big
with fs.open(root + "/big.bin") as f:
    f.seek(1000)
    assert f.read(10) == big[1000:1010]
assert fs.info(root + "/big.bin")["size"] == len(big)
fs.rm(root + "/big.bin")
fs.invalidate_cache()
assert not fs.exists(root + "/big.bin")
print("done")
`;
    assert.equal((await runPython(script, pythonEnvironment())).trim(), "done");
  });
});

const pythonEnvironment = () => ({ HF_ENDPOINT: hub.url, HF_TOKEN: writerToken, HF_HUB_DISABLE_XET: "1" });
