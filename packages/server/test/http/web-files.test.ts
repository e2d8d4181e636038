/** The files of the web UI. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { findWebFiles } from "../../src/http/pages/web-files.ts";

it("the assets of the page are served even after another build has replaced them on the disk", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-web-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "the page");
  for (const name of ["app.js", "app.js.gz", "other.map"]) await writeFile(join(folder, "assets", name), name);
  const { page, assets } = await findWebFiles([folder]);
  await rm(folder, { recursive: true });
  assert.deepEqual([page, [...assets.keys()]], ["the page", ["app.js"]]);
  const contents = [...(assets.get("app.js")?.encodings ?? [])].map(([encoding, bytes]) => [encoding, String(bytes)]);
  assert.deepEqual(contents, [
    ["identity", "app.js"],
    ["gzip", "app.js.gz"],
  ]);
});
