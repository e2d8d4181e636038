/**
 * Compares the storage library with other clients of s3, gs and az, each a separate process, alternating, on the same
 * server. Times are medians; CPU time is printed, too, because it depends less on the load of the machine. STORAGE_ONLY
 * takes comma-separated names or parts of names: `s3:list`, `nginx:gs`, `azurite`.
 */
import { rm } from "node:fs/promises";
import { compare, type Measurement, median } from "./measure.ts";
import { type Client, ours, runClient } from "./storage/client.ts";
import { type Comparison, comparisonsOf, once } from "./storage/comparison.ts";
import { type BenchServer, type ServerKind, serverKinds } from "./storage/server.ts";
import type { ClientReport, ClientTask } from "./storage-clients/task.ts";

const rounds = Number(process.env["STORAGE_ROUNDS"] ?? 3);
const bytes = Number(process.env["STORAGE_BYTES"] ?? 2_000_000_000);
const only = (process.env["STORAGE_ONLY"] ?? "").split(",");

export async function measureStorage(): Promise<Measurement[]> {
  const results: Measurement[] = [];
  for (const kind of serverKinds(bytes)) {
    const wanted = comparisonsOf(kind.scheme, kind.amounts).filter(({ name }) => isWanted(`${kind.name}:${name}`));
    if (wanted.length > 0) results.push(...(await measureOn(kind, wanted)));
  }
  return results;
}

const isWanted = (name: string) => only.some((part) => name.includes(part));

async function measureOn(kind: ServerKind, wanted: readonly Comparison[]): Promise<Measurement[]> {
  const server = await kind.start().catch((error: Error) => {
    process.stderr.write(`${kind.name} for ${kind.scheme} cannot be had, and is left out: ${error.message}\n`);
    return undefined;
  });
  if (!server) return [];
  const results: Measurement[] = [];
  try {
    for (const comparison of wanted) {
      const name = `${kind.name}:${comparison.name}`;
      const reports = await inTurns(name, comparison, taskOf(comparison, server), kind.isReal ? 1 : rounds);
      results.push(...compareAll(`${kind.name}, ${kind.scheme}: ${comparison.what}`, kind, comparison, reports));
    }
  } finally {
    await server.stop();
  }
  return results;
}

const taskOf = ({ task }: Comparison, { place, source, target }: BenchServer): ClientTask => ({
  ...place,
  ...task,
  file: task.kind === "upload" ? source : target,
});

type Reports = ReadonlyMap<Client, readonly ClientReport[]>;

/**
 * Runs every client once per round, so that a busy moment of the machine affects all. A client that fails is not run
 * again.
 */
async function inTurns(name: string, { others }: Comparison, task: ClientTask, times: number): Promise<Reports> {
  const reports = new Map<Client, ClientReport[]>([ours, ...others.map(([other]) => other)].map((one) => [one, []]));
  for (let round = 1; round <= times; round += 1) {
    for (const [client, list] of reports) {
      if (round > 1 && once.has(client)) continue;
      const report = await runClient(client, task);
      if (task.kind === "download") await rm(task.file, { force: true });
      if (report) list.push(report);
      else reports.delete(client);
      if (report) process.stderr.write(`${name} ${round}/${times} ${client.name}: ${report.seconds.toFixed(2)} s\n`);
    }
  }
  return reports;
}

function compareAll(what: string, { isReal }: ServerKind, comparison: Comparison, reports: Reports): Measurement[] {
  const mine = reports.get(ours) ?? [];
  return comparison.others.flatMap(([client, bound]) => {
    const theirs = reports.get(client) ?? [];
    if (theirs.length === 0 || mine.length === 0) return [];
    const other = theirs.find(({ result }) => result !== mine[0]?.result);
    if (other) return [differing(what, client, mine[0] as ClientReport, other)];
    const sides = { ours: rateOf(comparison, mine), other: rateOf(comparison, theirs), unit: comparison.unit };
    const otherIs = `${client.name} (${cpuOf(mine)} beside ${cpuOf(theirs)})`;
    return [compare(what, `>= ${isReal ? 0 : bound}`, { ...sides, otherIs })];
  });
}

const rateOf = ({ amount }: Comparison, reports: readonly ClientReport[]) =>
  amount / median(reports.map(({ seconds }) => seconds));

const cpuOf = (reports: readonly ClientReport[]) => `${median(reports.map(({ cpu }) => cpu)).toFixed(1)} s CPU`;

/** Fails if a client left something out. */
const differing = (what: string, { name }: Client, mine: ClientReport, other: ClientReport): Measurement => ({
  what,
  ours: `saw ${mine.result}`,
  other: `${name} saw ${other.result}`,
  ratio: mine.result / other.result,
  bound: "the same",
  holds: false,
});
