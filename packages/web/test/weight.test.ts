/** The weight of the web UI: what a browser loads before a screen can be shown, compressed. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";

const dist = join(import.meta.dirname, "../dist");

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
}

const manifest = JSON.parse(await readFile(join(dist, ".vite/manifest.json"), "utf8")) as Record<string, Chunk>;

/** Names of the chunks that these chunks load at once, themselves included. */
function closure(names: readonly string[], seen = new Set<string>()): Set<string> {
  for (const name of names) {
    if (seen.has(name)) continue;
    seen.add(name);
    closure(manifest[name]?.imports ?? [], seen);
  }
  return seen;
}

/** Bytes of JavaScript, compressed with gzip, that these chunks need in addition to the chunks in `loaded`. */
async function weight(names: readonly string[], loaded: readonly string[] = []): Promise<number> {
  const before = closure(loaded);
  const sizes = [...closure(names)]
    .filter((name) => !before.has(name))
    .map(async (name) => gzipSync(await readFile(join(dist, manifest[name]?.file ?? "")), { level: 9 }).length);
  return (await Promise.all(sizes)).reduce((all, size) => all + size, 0);
}

const chunk = (end: string) => {
  const key = Object.keys(manifest).find((path) => path.endsWith(end));
  assert.ok(key, `the build has no chunk ${end}`);
  return key;
};
const screen = (name: string) => chunk(`/${name}-screen.tsx`);

describe("the JavaScript that a browser loads, gzipped", () => {
  const kB = 1000;
  it("is at most 110 kB for the first screen", async () => {
    const bytes = await weight(["index.html", screen("home")]);
    assert.ok(bytes <= 110 * kB, `${bytes} bytes`);
  });

  it("is at most 120 kB for the page of a job", async () => {
    const bytes = await weight(["index.html", screen("job")]);
    assert.ok(bytes <= 120 * kB, `${bytes} bytes`);
  });

  it("is at most 120 kB more for the editor than for the first screen", async () => {
    const bytes = await weight([screen("editor"), chunk("/editor/code-mirror.ts")], ["index.html", screen("home")]);
    assert.ok(bytes <= 120 * kB, `${bytes} bytes`);
  });

  it("is at most 110 kB for the list of jobs", async () => {
    const bytes = await weight(["index.html", screen("jobs")]);
    assert.ok(bytes <= 110 * kB, `${bytes} bytes`);
  });
});
