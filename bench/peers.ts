/**
 * The same work on Millrace and on other products that people could pick, one after another, so that only one is alive
 * at a time. Runs only on request, because it installs them: `npm run bench peers`.
 */
import { availableParallelism, loadavg, totalmem } from "node:os";
import { slots } from "./jobs.ts";
import type { Section } from "./measure.ts";
import { airflow } from "./peers/airflow.ts";
import { celery } from "./peers/celery.ts";
import { dagster } from "./peers/dagster.ts";
import { hatchet } from "./peers/hatchet.ts";
import { type Amounts, type Cells, closeSession, measurePeer, steps } from "./peers/measured.ts";
import { millracePython, millraceShell } from "./peers/millrace.ts";
import type { Peer } from "./peers/peer.ts";
import { prefect } from "./peers/prefect.ts";
import { temporal } from "./peers/temporal.ts";

const all: readonly Peer[] = [millracePython, millraceShell, prefect, dagster, airflow, temporal, hatchet, celery];

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const only = (process.env["PEERS_ONLY"] ?? "").split(",");
const amounts: Amounts = {
  jobs: number("PEERS_JOBS", 200),
  chain: number("PEERS_CHAIN", 40),
  logBytes: number("PEERS_LOG_BYTES", 100_000_000),
  rounds: number("PEERS_ROUNDS", 3),
  idle: number("PEERS_IDLE", 30),
  limit: number("PEERS_LIMIT", 90),
};

const titles = {
  ready: "start to ready",
  idle: "idle memory",
  one: "one no-op job",
  chain: `chain of ${amounts.chain}`,
  log: `${amounts.logBytes / 1e6} MB of log`,
  many: `${amounts.jobs} no-op jobs`,
};

export async function measurePeers(): Promise<Section> {
  // The jobs of some products have a fixed length when they are loaded.
  process.env["PEERS_CHAIN"] = String(amounts.chain);
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void closeSession().finally(() => process.exit(130)));
  const wanted = all.filter(({ name }) => only.some((part) => name.toLowerCase().includes(part.toLowerCase())));
  const rows: string[][] = [];
  const before = load();
  for (const peer of wanted) rows.push(rowOf(peer, await measurePeer(peer, amounts)));
  const settings = wanted.map(({ name, version, setting, work }) => [name, version, setting, work]);
  return {
    name: "peers",
    text: `${new Date().toISOString().slice(0, 10)}; ${machine()}; ${slots} jobs at a time. Load average of the machine: ${before} before the first product, ${load()} after the last.`,
    tables: [
      [["", ...steps.map((step) => titles[step])], ...rows],
      [["", "version", "setup", "one job; many; chain; log"], ...settings],
    ],
  };
}

const rowOf = ({ name }: Peer, cells: Cells) => [name, ...steps.map((step) => cells[step] ?? "")];

const machine = () => `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GB of memory`;

/** Shows whether other work used the machine at the same time. */
const load = () => (loadavg()[0] ?? 0).toFixed(1);
