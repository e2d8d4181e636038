/** The folders of the server are layered: imports point down, and independent parts do not import each other. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../../../..");

/** What each part may import from the others. */
type Floors = Readonly<Record<string, readonly string[]>>;

/** Engines and domain never import each other; execution connects them. */
const server: Floors = {
  turns: [],
  datachain: [],
  runtimes: ["datachain"],
  store: ["turns"],
  engines: ["datachain", "runtimes", "turns"],
  blobs: ["turns"],
  logs: [],
  reasons: ["datachain", "runtimes"],
  metrics: [],
  configuration: ["datachain"],
  domain: ["datachain", "runtimes", "store", "turns"],
  warehouses: ["datachain", "engines", "turns"],
  senders: ["domain"],
  machine: ["blobs", "domain", "store"],
  "job-logs": ["blobs", "domain", "engines", "logs", "store", "turns"],
  execution: [
    "blobs",
    "datachain",
    "domain",
    "engines",
    "job-logs",
    "machine",
    "metrics",
    "reasons",
    "runtimes",
    "store",
    "warehouses",
    "turns",
  ],
  loops: [
    "blobs",
    "domain",
    "engines",
    "execution",
    "job-logs",
    "machine",
    "metrics",
    "reasons",
    "senders",
    "store",
    "warehouses",
    "turns",
  ],
  http: [
    "blobs",
    "configuration",
    "datachain",
    "domain",
    "engines",
    "execution",
    "job-logs",
    "logs",
    "machine",
    "metrics",
    "store",
    "warehouses",
    "turns",
  ],
  admin: ["blobs", "configuration", "datachain", "domain", "engines", "machine", "store", "warehouses"],
  app: [
    "admin",
    "blobs",
    "configuration",
    "domain",
    "engines",
    "execution",
    "http",
    "job-logs",
    "loops",
    "machine",
    "metrics",
    "senders",
    "store",
    "warehouses",
    "turns",
    "version.ts",
  ],
  "version.ts": [],
  "main.ts": ["admin", "app", "configuration", "datachain", "domain", "engines", "machine", "store", "warehouses"],
};

const basics = ["secrets", "time"];

const domain: Floors = {
  secrets: [],
  time: [],
  access: basics,
  lifecycle: basics,
  events: ["access", "lifecycle", ...basics],
  jobs: ["access", "lifecycle", ...basics],
  datasets: ["access", "lifecycle", ...basics],
  pipelines: ["access", "datasets", "jobs", "lifecycle", ...basics],
  ownership: ["access", "jobs", "lifecycle", "pipelines", "time"],
  schedules: ["access", "datasets", "jobs", "lifecycle", "ownership", "pipelines", ...basics],
  people: ["access", "jobs", "ownership", ...basics],
};

const store: Floors = {
  schema: [],
  drivers: ["schema"],
  queries: ["drivers", "schema"],
  migrations: ["drivers", "queries", "schema"],
  opening: ["drivers", "migrations", "queries", "schema"],
};

/** Files that several nouns need. */
const texts = ["batches.ts", "pages.ts", "short-texts.ts"];

const queries: Floors = {
  "batches.ts": [],
  "pages.ts": [],
  "short-texts.ts": [],
  events: texts,
  people: texts,
  datasets: [...texts, "people"],
  jobs: [...texts, "events", "people"],
  pipelines: [...texts, "events"],
  schedules: [...texts, "jobs"],
};

const http: Floors = {
  connections: [],
  requests: ["connections"],
  jobs: ["connections", "requests"],
  datasets: ["requests"],
  pipelines: ["requests"],
  schedules: ["requests"],
  events: ["requests"],
  people: ["requests"],
  system: ["requests"],
  live: ["requests"],
  runners: ["connections", "requests"],
  pages: ["jobs", "requests"],
  "app.ts": [
    ...[
      "connections",
      "datasets",
      "events",
      "jobs",
      "live",
      "pages",
      "people",
      "pipelines",
      "requests",
      "runners",
      "schedules",
      "system",
    ],
  ],
};

/** What every engine may use. */
const everyEngine = ["engine.ts", "limit-words.ts", "log-file.ts", "phases", "usage-file.ts"];

const engines: Floors = {
  "engine.ts": [],
  "limit-words.ts": [],
  "log-file.ts": ["engine.ts"],
  "usage-file.ts": [],
  "disk-usage.ts": [],
  "nobodys-user.ts": [],
  "warehouse-view.ts": ["disk-usage.ts"],
  phases: ["engine.ts"],
  runners: everyEngine,
  kubernetes: ["engine.ts", "runners"],
  ray: ["engine.ts", "runners"],
  slurm: ["engine.ts", "runners"],
  local: [...everyEngine, "disk-usage.ts", "nobodys-user.ts", "warehouse-view.ts"],
  "registry.ts": ["engine.ts", "limit-words.ts", "runners"],
  "kept-logs.ts": ["log-file.ts", "registry.ts"],
};

const localEngine: Floors = {
  "engine-folders.ts": [],
  processes: ["engine-folders.ts"],
  attempt: ["processes"],
  isolation: ["attempt", "engine-folders.ts", "processes"],
  environments: ["attempt", "isolation", "processes"],
  preparation: ["attempt", "environments", "isolation", "processes"],
  "inspect.ts": ["engine-folders.ts", "environments", "isolation"],
  waiting: ["attempt", "environments", "isolation", "preparation", "processes"],
  "local-engine.ts": [
    "attempt",
    "engine-folders.ts",
    "environments",
    "isolation",
    "preparation",
    "processes",
    "waiting",
  ],
};

/** The base of all storage schemes. */
const ground = [
  "errors.ts",
  "check-count.ts",
  "address",
  "configuration",
  "concurrency",
  "capabilities.ts",
  "backend.ts",
  "options.ts",
];

/** The public interface, types only, which refers to the types of random access. */
const face = ["storage.ts", "random-access"];

const storage: Floors = {
  "errors.ts": [],
  "check-count.ts": ["errors.ts"],
  address: ["errors.ts"],
  configuration: ["errors.ts"],
  concurrency: ["errors.ts", "check-count.ts"],
  "capabilities.ts": [],
  "backend.ts": ["concurrency"],
  "options.ts": ["backend.ts"],
  "entry.ts": ["backend.ts"],
  "batch.ts": ["errors.ts", "concurrency"],
  "store-backend.ts": ["errors.ts", "concurrency", "backend.ts", "entry.ts"],
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

const testing: Floors = {
  "repository.ts": [],
  "until.ts": [],
  "random.ts": [],
  programs: ["repository.ts"],
  servers: ["programs", "repository.ts"],
  objects: ["servers", "programs"],
  millrace: ["servers", "programs", "repository.ts"],
};

/** What every screen of the web UI may use. */
const screens = ["api", "graph", "logs", "look", "paths", "plots"];

const web: Floors = {
  api: [],
  look: ["api"],
  paths: ["api"],
  plots: ["look"],
  graph: ["look"],
  logs: ["api", "look"],
  jobs: screens,
  datasets: screens,
  storage: screens,
  clusters: screens,
  editor: [...screens, "jobs", "schedules"],
  schedules: [...screens, "jobs"],
  pipelines: [...screens, "jobs"],
  home: [...screens, "jobs", "schedules"],
  settings: screens,
  administration: [...screens, "clusters", "settings"],
  frame: ["api", "look", "paths"],
  "app.tsx": [
    ...["administration", "api", "clusters", "datasets", "editor", "frame", "home", "jobs", "look", "pipelines"],
    ...["schedules", "settings", "storage"],
  ],
  "main.tsx": ["app.tsx", "frame", "look"],
};

const houses: Readonly<Record<string, Floors>> = {
  "server/src": server,
  "server/src/domain": domain,
  "server/src/store": store,
  "server/src/store/queries": queries,
  "server/src/http": http,
  "server/src/engines": engines,
  "server/src/engines/local": localEngine,
  "storage/src": storage,
  "testing/src": testing,
  "web/src": web,
};

/** What each package may import from our other packages. */
const packages: Record<string, readonly string[]> = {
  contract: [],
  server: ["@millrace/contract", "@millrace/storage"],
  storage: [],
  cli: ["@millrace/contract", "@millrace/server", "@millrace/storage"],
  testing: ["@millrace/contract"],
  web: ["@millrace/contract"],
};

async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile() && /\.tsx?$/.test(e.name)).map((e) => join(e.parentPath, e.name));
}

async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] ?? "");
}

/** Returns the files of one import cycle, in order; empty if there is none. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] => {
    if (path.includes(file)) return path.slice(path.indexOf(file));
    if (done.has(file)) return [];
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next);
      if (circle.length > 0) return circle;
    }
    path.pop();
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle.length > 0) return circle;
  }
  return [];
}

describe("imports", () => {
  for (const [name, floors] of Object.entries(houses)) {
    it(`in ${name} point down the floors`, async () => {
      const src = join(root, "packages", name);
      const part = (path: string) => relative(src, path).split("/")[0] ?? "";
      for (const file of await sources(src)) {
        const from = part(file);
        assert.ok(from in floors, `${from} has no floor: name it in this test and in ARCHITECTURE.md`);
        for (const target of (await importsOf(file)).filter((word) => word.startsWith("."))) {
          const to = part(normalize(join(dirname(file), target)));
          if (to === "..") continue;
          assert.ok(to === from || floors[from]?.includes(to), `${relative(root, file)} must not import ${target}`);
        }
      }
    });
  }

  it("form no cycle, not even of types", async () => {
    for (const name of Object.keys(packages)) {
      const files = await sources(join(root, "packages", name, "src"));
      const graph = new Map<string, string[]>();
      for (const file of files) {
        const targets = (await importsOf(file)).filter((word) => word.startsWith("."));
        graph.set(
          file,
          targets.map((target) => normalize(join(dirname(file), target))),
        );
      }
      assert.deepEqual(
        circleIn(graph).map((file) => relative(root, file)),
        [],
        `a circle in ${name}`,
      );
    }
  });

  it("of the local engine occur only where it is opened: all other parts use the engine of a cluster", async () => {
    const src = join(root, "packages/server/src");
    for (const file of await sources(src)) {
      if (/^(engines|app|admin|main\.ts)/.test(relative(src, file))) continue;
      for (const target of await importsOf(file))
        assert.ok(!target.includes("engines/local/"), `${relative(root, file)} must not import ${target}`);
    }
  });

  it("of one storage scheme occur in no other scheme", async () => {
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

  it("of the environment occur in one place per program", async () => {
    const readers = { server: ["configuration/config.ts"], cli: ["settings.ts"], contract: [] as string[] };
    for (const [name, allowed] of Object.entries(readers)) {
      const src = join(root, "packages", name, "src");
      for (const file of await sources(src)) {
        if (/process\.env\b/.test(await readFile(file, "utf8")))
          assert.ok(allowed.includes(relative(src, file)), `${relative(root, file)} reads the environment`);
      }
    }
  });

  it("of the data folder's layout occur in one place: all other parts get paths", async () => {
    const src = join(root, "packages/server/src");
    for (const file of await sources(src)) {
      const text = await readFile(file, "utf8");
      const composes = /join\(\s*[\w.#]*dataDir|\$\{[\w.#]*dataDir\}\//.test(text);
      assert.ok(
        !composes || relative(src, file) === "machine/data-folder.ts",
        `${relative(root, file)} names paths of it`,
      );
    }
  });

  it("have a line in ARCHITECTURE.md for every folder", async () => {
    const text = await readFile(join(root, "ARCHITECTURE.md"), "utf8");
    for (const name of Object.keys(server))
      assert.ok(new RegExp(`^ {4}${name}/? `, "m").test(text), `${name} is not in ARCHITECTURE.md`);
    for (const rooms of [domain, store, http, engines, localEngine]) {
      for (const name of Object.keys(rooms).filter((room) => !room.endsWith(".ts")))
        assert.ok(new RegExp(`^ {6,8}${name}/ `, "m").test(text), `the room ${name} is not in ARCHITECTURE.md`);
    }
    for (const name of Object.keys(storage).filter((part) => !part.endsWith(".ts")))
      assert.ok(new RegExp(`^ {4}src/${name}/ `, "m").test(text), `src/${name} is not in ARCHITECTURE.md`);
  });
});
