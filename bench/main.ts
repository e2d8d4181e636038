/**
 * Measurements as ratios. Both sides of a ratio are measured in the same run, alternating, with as many in flight as
 * the cluster has slots, because machines are noisy and absolute times mislead. `npm run bench` runs all parts, `npm
 * run bench jobs list` some. The part `peers` runs only if it is named: it is a table of absolute figures.
 */
import { parseArgs } from "node:util";
import { writeSections } from "./markdown.ts";
import { type Measurement, plain, ratios, type Section } from "./measure.ts";

const parts: Record<string, () => Promise<Measurement[]>> = {
  start: async () => (await import("./start.ts")).measureStart(),
  latency: async () => (await import("./jobs.ts")).measureLatency(),
  jobs: async () => (await import("./jobs.ts")).measureThroughput(),
  defaults: async () => (await import("./defaults.ts")).measureDefaults(),
  scripts: async () => (await import("./scripts.ts")).measureScripts(),
  isolation: async () => (await import("./isolation.ts")).measureIsolation(),
  library: async () => (await import("./library.ts")).measureLibrary(),
  "first-job": async () => (await import("./first-job.ts")).measureFirstJob(),
  pipelines: async () => (await import("./pipelines.ts")).measurePipelines(),
  "web-pipelines": async () => (await import("./web-pipelines.ts")).measureWebPipelines(),
  list: async () => (await import("./listing.ts")).measureListing(),
  large: async () => (await import("./listing.ts")).measureLargeJobs(),
  http: async () => (await import("./listing.ts")).measureHttp(),
  bodies: async () => (await import("./bodies.ts")).measureBodies(),
  log: async () => (await import("./logs.ts")).measureLogs(),
  runners: async () => (await import("./runners.ts")).measureRunners(),
  "web-logs": async () => (await import("./web-logs.ts")).measureWebLogs(),
  storage: async () => (await import("./storage.ts")).measureStorage(),
  bridge: async () => (await import("./bridge.ts")).measureBridge(),
  "web-jobs": async () => (await import("./web-jobs.ts")).measureJobsList(),
  schedules: async () => (await import("./schedules.ts")).measureSchedules(),
  slurm: async () => (await import("./slurm.ts")).measureSlurm(),
  ray: async () => (await import("./ray.ts")).measureRay(),
  kubernetes: async () => (await import("./kubernetes.ts")).measureKubernetes(),
};

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { markdown: { type: "string" } },
});
const names = [...Object.keys(parts), "peers"];
for (const name of wanted) {
  if (!names.includes(name)) {
    console.error(`There is no part ${name}. Parts: ${names.join(", ")}.`);
    process.exit(64);
  }
}

const results: Measurement[] = [];
for (const [name, measure] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  process.stderr.write(`measuring ${name} ...\n`);
  results.push(...(await measure()));
}
const sections: Section[] = results.length > 0 ? [ratios(results)] : [];
if (wanted.includes("peers")) sections.push(await (await import("./peers.ts")).measurePeers());
for (const section of sections) console.log(plain(section));
if (values.markdown !== undefined) await writeSections(values.markdown, sections);
process.exitCode = results.every((result) => result.holds) ? 0 : 1;
