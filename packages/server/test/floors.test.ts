/** The house has floors: imports point down, and the parts that must not know each other do not. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../../..");

/** What each part may import of the others. */
type Floors = Readonly<Record<string, readonly string[]>>;

/** Engines and domain never meet: a loop joins them. */
const server: Floors = {
  store: [],
  domain: ["store"],
  logs: [],
  reasons: [],
  engines: [],
  "team-stores": ["engines"],
  metrics: [],
  senders: ["domain"],
  "disk.ts": ["domain", "store"],
  "log-searches.ts": ["store", "domain", "logs"],
  "job-log.ts": ["store", "domain", "engines", "logs", "log-searches.ts"],
  loops: [
    "store",
    "domain",
    "engines",
    "job-log.ts",
    "metrics",
    "disk.ts",
    "faults.ts",
    "reasons",
    "senders",
    "team-stores",
  ],
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
  "log-sink.ts": [],
  "open-files.ts": [],
  "key-file.ts": ["config.ts", "domain", "store"],
  "key-rotation.ts": ["config.ts", "domain", "faults.ts", "key-file.ts", "store"],
  backup: ["store", "domain", "lock.ts", "team-stores"],
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
    "open-files.ts",
    "senders",
    "store",
    "team-stores",
  ],
  "main.ts": [
    "backup",
    "config.ts",
    "doctor.ts",
    "domain",
    "engines",
    "key-file.ts",
    "key-rotation.ts",
    "log-sink.ts",
    "server.ts",
    "store",
    "team-stores",
  ],
};

/** What all kinds of storage stand on. */
const ground = ["errors.ts", "check-count.ts", "address", "configuration", "waiting", "capabilities.ts", "backend.ts"];

/** The interface that callers see, types only, which names what random access gives. */
const face = ["storage.ts", "random-access"];

const storage: Floors = {
  "errors.ts": [],
  "check-count.ts": ["errors.ts"],
  address: ["errors.ts"],
  configuration: ["errors.ts"],
  waiting: ["errors.ts", "check-count.ts"],
  "capabilities.ts": [],
  "backend.ts": ["waiting"],
  "entry.ts": ["backend.ts"],
  "batch.ts": ["errors.ts", "waiting"],
  "store-backend.ts": ["errors.ts", "waiting", "backend.ts", "entry.ts"],
  "scheme.ts": ground,
  "storage.ts": [...ground, "random-access"],
  transfer: [...ground, "storage.ts"],
  listing: [...ground, "storage.ts"],
  "random-access": [...ground, "storage.ts", "transfer"],
  http: ground,
  archive: [...ground, "entry.ts", "listing", "scheme.ts", "transfer"],
  schemes: [
    ...ground,
    "archive",
    "batch.ts",
    "entry.ts",
    "http",
    "listing",
    "random-access",
    "scheme.ts",
    "store-backend.ts",
    "transfer",
  ],
  "registry.ts": [...ground, "archive", "scheme.ts", "schemes"],
  "client-configs.ts": [...ground, "schemes"],
  "local-files": [...ground, "schemes", "storage.ts", "transfer"],
  "opened-storage.ts": [...ground, ...face, "entry.ts", "listing", "local-files", "scheme.ts", "transfer"],
  "open.ts": [...ground, "client-configs.ts", "opened-storage.ts", "registry.ts", "storage.ts"],
  "sync.ts": [...ground, "storage.ts"],
  files: [...ground, ...face, "client-configs.ts", "listing", "open.ts", "registry.ts"],
  "index.ts": [...ground, ...face, "client-configs.ts", "files", "open.ts", "registry.ts", "scheme.ts", "sync.ts"],
};

const houses: Readonly<Record<string, Floors>> = { server, storage };

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
  for (const [name, floors] of Object.entries(houses)) {
    it(`in ${name} point down the floors`, async () => {
      const src = join(root, "packages", name, "src");
      const part = (path: string) => relative(src, path).split("/")[0] ?? "";
      for (const file of await sources(src)) {
        const from = part(file);
        assert.ok(from in floors, `${from} has no floor: name it in this test and in ARCHITECTURE.md`);
        for (const target of (await importsOf(file)).filter((word) => word.startsWith("."))) {
          const to = part(normalize(join(dirname(file), target)));
          assert.ok(to === from || floors[from]?.includes(to), `${relative(root, file)} must not import ${target}`);
        }
      }
    });
  }

  it("of one kind of storage are of no other kind", async () => {
    const src = join(root, "packages/storage/src/schemes");
    const kind = (path: string) => relative(src, path).split("/")[0];
    for (const file of await sources(src)) {
      for (const target of (await importsOf(file)).filter((word) => word.startsWith("."))) {
        const to = normalize(join(dirname(file), target));
        const isInside = !relative(src, to).startsWith("..");
        assert.ok(!isInside || kind(to) === kind(file), `${relative(root, file)} must not import ${target}`);
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
    for (const name of Object.keys(server))
      assert.ok(new RegExp(`^ {4}${name}/? `, "m").test(text), `${name} is not in ARCHITECTURE.md`);
    for (const name of Object.keys(storage).filter((part) => !part.endsWith(".ts")))
      assert.ok(new RegExp(`^ {4}src/${name}/ `, "m").test(text), `src/${name} is not in ARCHITECTURE.md`);
  });
});
