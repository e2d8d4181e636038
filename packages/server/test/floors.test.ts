/** The house has floors: imports point down, and the parts that must not know each other do not. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../../..");

/** What each part of the server may import of the others. Engines and domain never meet: a loop joins them. */
const floors: Record<string, readonly string[]> = {
  store: [],
  domain: ["store"],
  logs: [],
  engines: [],
  "team-stores": ["engines"],
  metrics: [],
  "disk.ts": ["domain"],
  "job-log.ts": ["store", "domain", "engines", "logs"],
  loops: ["store", "domain", "engines", "job-log.ts", "metrics", "disk.ts", "faults.ts", "team-stores"],
  http: [
    "store",
    "domain",
    "engines",
    "logs",
    "job-log.ts",
    "metrics",
    "config.ts",
    "disk.ts",
    "faults.ts",
    "team-stores",
  ],
  "config.ts": [],
  "faults.ts": [],
  "lock.ts": [],
  "key-file.ts": ["config.ts", "domain", "store"],
  "key-rotation.ts": ["config.ts", "domain", "faults.ts", "key-file.ts", "store"],
  backup: ["store", "domain", "lock.ts"],
  doctor: ["config.ts", "domain", "store"],
  "doctor.ts": ["config.ts", "doctor", "engines"],
  "server.ts": [
    "backup",
    "config.ts",
    "disk.ts",
    "domain",
    "engines",
    "faults.ts",
    "http",
    "key-file.ts",
    "lock.ts",
    "loops",
    "metrics",
    "store",
    "team-stores",
  ],
  "main.ts": ["backup", "config.ts", "doctor.ts", "domain", "key-file.ts", "key-rotation.ts", "server.ts", "store"],
};

/** What each package may import of ours. */
const packages: Record<string, readonly string[]> = {
  contract: [],
  server: ["@millrace/contract"],
  storage: [],
  cli: ["@millrace/contract", "@millrace/server", "@millrace/storage"],
};

async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile() && e.name.endsWith(".ts")).map((e) => join(e.parentPath, e.name));
}

async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] ?? "");
}

describe("imports", () => {
  it("in the server point down the floors", async () => {
    const src = join(root, "packages/server/src");
    const part = (path: string) => relative(src, path).split("/")[0] ?? "";
    for (const file of await sources(src)) {
      const from = part(file);
      assert.ok(from in floors, `${from} has no floor: name it in this test and in ARCHITECTURE.md`);
      for (const target of (await importsOf(file)).filter((name) => name.startsWith("."))) {
        const to = part(normalize(join(dirname(file), target)));
        assert.ok(to === from || floors[from]?.includes(to), `${relative(root, file)} must not import ${target}`);
      }
    }
  });

  it("between packages point down", async () => {
    for (const [name, allowed] of Object.entries(packages)) {
      for (const file of await sources(join(root, "packages", name, "src"))) {
        for (const target of (await importsOf(file)).filter((t) => t.startsWith("@millrace/"))) {
          assert.ok(allowed.includes(target), `${relative(root, file)} must not import ${target}`);
        }
      }
    }
  });

  it("of the environment happen in one place per program", async () => {
    const readers = { server: ["config.ts"], cli: ["settings.ts"], contract: [] as string[] };
    for (const [name, allowed] of Object.entries(readers)) {
      const src = join(root, "packages", name, "src");
      for (const file of await sources(src)) {
        if (/process\.env\b/.test(await readFile(file, "utf8")))
          assert.ok(allowed.includes(relative(src, file)), `${relative(root, file)} reads the environment`);
      }
    }
  });

  it("of every folder are explained in ARCHITECTURE.md", async () => {
    const text = await readFile(join(root, "ARCHITECTURE.md"), "utf8");
    for (const name of Object.keys(floors))
      assert.ok(new RegExp(`^ {4}${name}/? `, "m").test(text), `${name} is not in ARCHITECTURE.md`);
  });
});
