/**
 * The storage library beside other clients of S3, each a process of its own, in turns, on the same server: nginx with
 * prepared pages and objects, so that the client is the limit, and versitygw, a real one. Times are medians; the time
 * of the processor is printed, too, which a busy machine changes less.
 */
import { execFile } from "node:child_process";
import { access, mkdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../e2e/support/server.ts";
import { programIn, type Virtualenv, whyNoVirtualenv } from "../e2e/support/virtualenv.ts";
import { startPreparedStore } from "../packages/storage/test/support/prepared-store.ts";
import { startVersitygw } from "../packages/storage/test/support/versitygw.ts";
import { compare, type Measurement, median } from "./measure.ts";
import type { ClientReport, ClientTask } from "./storage-clients/task.ts";

const run = promisify(execFile);
const mebibyte = 1024 * 1024;
const rounds = Number(process.env["STORAGE_ROUNDS"] ?? 3);
const big = Number(process.env["STORAGE_BYTES"] ?? 2_000_000_000);
const folders = 200;
const clients = join(import.meta.dirname, "storage-clients");
const node = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];

type Command = (task: ClientTask) => readonly [string, ...string[]];

/** A client: how it is started, or nothing where it cannot be had, which is then said. */
interface Client {
  readonly name: string;
  command(): Promise<Command | undefined>;
}

const onNode = (name: string): Client => ({
  name,
  command: async () => (task) => [process.execPath, ...node, join(clients, `${name}.ts`), JSON.stringify(task)],
});

const onPython = (name: string, version: string, script: string): Client => ({
  name,
  async command() {
    const virtualenv: Virtualenv = { name: `${name}-${version}`, requirement: `${name}==${version}` };
    if (await whyNoVirtualenv(virtualenv)) return undefined;
    return (task) => [programIn(virtualenv, "python"), join(clients, script), JSON.stringify(task)];
  },
});

const opendal: Client = {
  name: "opendal",
  async command() {
    const folder = join(repository, ".cache/opendal-npm-0.49.2");
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "package.json"), "{}");
      const isThere = await access(join(folder, "node_modules/opendal")).then(
        () => true,
        () => false,
      );
      if (!isThere) await run("npm", ["install", "--no-audit", "--no-fund", "opendal@0.49.2"], { cwd: folder });
    } catch (error) {
      process.stderr.write(`opendal cannot be had: ${(error as Error).message}\n`);
      return undefined;
    }
    const script = [join(clients, "opendal.ts")];
    return (task) => [process.execPath, ...node, ...script, JSON.stringify(task), join(folder, "package.json")];
  },
};

const ours = onNode("ours");
const awsSdk = onNode("aws-sdk");
const s3fs = onPython("s3fs", "2026.9.0", "s3fs_client.py");
const obstore = onPython("obstore", "0.12.1", "obstore_client.py");
const rclone = onNode("rclone");

/** What is measured, and how much faster than each other client it must be; 0: only printed. */
interface Comparison {
  readonly what: string;
  readonly task: Pick<ClientTask, "kind" | "concurrency" | "block">;
  readonly others: readonly (readonly [Client, number])[];
  /** How much is done, for a rate. */
  readonly amount: number;
  readonly unit: string;
}

const large = (bound: { awsSdk: number; s3fs: number }) =>
  [
    [awsSdk, bound.awsSdk],
    [s3fs, bound.s3fs],
    [obstore, 0],
    [opendal, 0],
    [rclone, 0],
  ] as const;

const comparisons = (keys: number, count: number): Comparison[] => [
  {
    what: `list ${keys} keys`,
    task: { kind: "list", concurrency: 16, block: 5 * mebibyte },
    others: [
      [s3fs, 8],
      [awsSdk, 5],
      [obstore, 0],
      [opendal, 0],
      [rclone, 0],
    ],
    amount: keys,
    unit: "keys/s",
  },
  {
    what: `${count} GETs of 1 KiB, 64 at once`,
    task: { kind: "get", concurrency: 64, block: 5 * mebibyte },
    others: [
      [s3fs, 5],
      [awsSdk, 2],
      [obstore, 0],
      [opendal, 0],
    ],
    amount: count,
    unit: "GET/s",
  },
  ...(["download", "upload"] as const).flatMap((kind) => [
    {
      what: `${kind} of ${big / 1e9} GB, 8 at once, 16 MiB`,
      task: { kind, concurrency: 8, block: 16 * mebibyte },
      others: large({ awsSdk: 1.3, s3fs: 2 }),
      amount: big / 1e6,
      unit: "MB/s",
    },
    {
      what: `${kind} of ${big / 1e9} GB, defaults (1 at once, 5 MiB)`,
      task: { kind, concurrency: 1, block: 5 * mebibyte },
      others: [
        [awsSdk, 0],
        [s3fs, 0],
      ] as const,
      amount: big / 1e6,
      unit: "MB/s",
    },
  ]),
];

export async function measureStorage(): Promise<Measurement[]> {
  return [...(await onPreparedStore()), ...(await onRealServer())];
}

/** In memory, where the machine has such a folder: disks differ more than clients do. */
async function onPreparedStore(): Promise<Measurement[]> {
  const memory = "/dev/shm";
  if (
    await access(memory).then(
      () => true,
      () => false,
    )
  )
    process.env["TMPDIR"] = memory;
  const store = await startPreparedStore({ folders, objects: 1000, big });
  delete process.env["TMPDIR"];
  try {
    const { endpoint_url: endpoint, key, secret } = store.config;
    const place = { endpoint, key, secret, bucket: store.bucket, count: 10_000 };
    const files = { download: join(store.root, "copy"), upload: join(store.root, "bucket/big") };
    return await measureAll("nginx", comparisons(folders * 1000, place.count), place, files);
  } finally {
    await store.stop();
  }
}

/** A real server is slower than any client: here the figures say what it is like to use one. */
async function onRealServer(): Promise<Measurement[]> {
  const server = await startVersitygw();
  try {
    const bucket = await server.makeBucket("bench");
    const data = join(server.data, bucket);
    for (const folder of ["data/a", "data/b", "data/c", "data/d", "small"]) {
      await mkdir(join(data, folder), { recursive: true });
      for (let file = 0; file < 1000; file += 1) await writeFile(join(data, folder, String(file)), Buffer.alloc(1024));
    }
    await writeFile(join(data, "big"), "");
    await truncate(join(data, "big"), big);
    const { endpoint_url: endpoint, key, secret } = server.config;
    const place = { endpoint, key, secret, bucket, count: 2000 };
    const files = { download: join(server.folder, "copy"), upload: join(data, "big") };
    const unbound = comparisons(4000, place.count).map((comparison) => ({
      ...comparison,
      others: comparison.others.filter(([{ name }]) => name !== "rclone").map(([client]) => [client, 0] as const),
    }));
    return await measureAll("versitygw", unbound, place, files);
  } finally {
    await server.stop();
  }
}

async function measureAll(
  server: string,
  wanted: readonly Comparison[],
  place: Pick<ClientTask, "endpoint" | "key" | "secret" | "bucket" | "count">,
  files: { readonly download: string; readonly upload: string },
): Promise<Measurement[]> {
  const results: Measurement[] = [];
  for (const comparison of wanted) {
    const { kind } = comparison.task;
    const file = kind === "upload" ? files.upload : files.download;
    const reports = await inTurn(comparison, { ...place, ...comparison.task, file });
    if (kind === "download") await rm(file, { force: true });
    results.push(...compareAll(`${server}: ${comparison.what}`, comparison, reports));
  }
  return results;
}

/** Every client once in each round, so that a busy moment of the machine hits all. */
async function inTurn({ others }: Comparison, task: ClientTask): Promise<Map<string, ClientReport[]>> {
  const reports = new Map<string, ClientReport[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const client of [ours, ...others.map(([other]) => other)]) {
      const report = await runClient(client, task);
      if (report) reports.set(client.name, [...(reports.get(client.name) ?? []), report]);
    }
  }
  return reports;
}

async function runClient(client: Client, task: ClientTask): Promise<ClientReport | undefined> {
  const command = await client.command();
  if (!command) return undefined;
  const [program, ...words] = command(task);
  try {
    const { stdout } = await run(program, words, { timeout: 600_000 });
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as ClientReport;
  } catch (error) {
    process.stderr.write(`${client.name} cannot ${task.kind}: ${(error as Error).message.slice(-300)}\n`);
    return undefined;
  }
}

function compareAll(what: string, comparison: Comparison, reports: Map<string, ClientReport[]>): Measurement[] {
  const mine = reports.get("ours") ?? [];
  const result = mine[0]?.result;
  return comparison.others.flatMap(([{ name }, bound]) => {
    const theirs = reports.get(name) ?? [];
    if (theirs.length === 0 || mine.length === 0) return [];
    if (theirs[0]?.result !== result)
      process.stderr.write(`${what}: ${name} has ${theirs[0]?.result}, not ${result}\n`);
    const rate = (list: ClientReport[]) => comparison.amount / median(list.map(({ seconds }) => seconds));
    const cpu = (list: ClientReport[]) => `${median(list.map((report) => report.cpu ?? Number.NaN)).toFixed(1)} s CPU`;
    const sides = { ours: rate(mine), other: rate(theirs), unit: comparison.unit };
    const otherIs = `${name} (${cpu(mine)} beside ${cpu(theirs)})`;
    return [compare(what, `>= ${bound}`, { ...sides, otherIs })];
  });
}
