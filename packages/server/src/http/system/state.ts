/** The state of the server: version, disk, and what runs and waits. */
import type { SystemState } from "@millrace/contract";
import { timeOfJobId } from "../../domain/lifecycle/job-ids.ts";
import { slotsByTeam } from "../../store/queries/jobs/attempts.ts";
import { activeClusters } from "../../store/queries/jobs/clusters.ts";
import { waitingByTeam } from "../../store/queries/jobs/queue.ts";
import { teamNames } from "../../store/queries/people/teams.ts";
import type { SystemContext } from "../requests/context.ts";

/** Reads the queue and the open attempts, never the table of all jobs. */
export async function readState(context: SystemContext): Promise<SystemState> {
  const { store, disk, clock, version, ready, sendsMail } = context;
  const [clusters, waiting, running, names, free] = await Promise.all([
    activeClusters(store.db),
    waitingByTeam(store.db),
    slotsByTeam(store.db),
    teamNames(store.db),
    disk.free(),
  ]);
  const now = clock.now();
  return {
    version,
    node: process.versions.node,
    started_at: new Date(now - process.uptime() * 1000).toISOString(),
    ready: ready() && store.isReachable(),
    memory_bytes: process.memoryUsage.rss(),
    disk_free_bytes: Number.isFinite(free) ? free : null,
    disk_low: await disk.isLow(),
    sends_mail: sendsMail,
    clusters: clusters.map(({ id, name, max_workers }) => {
      const queued = waiting.filter((row) => row.cluster_id === id);
      return {
        name,
        slots: max_workers,
        busy: sum(running, (row) => (row.cluster_id === id ? Number(row.slots) : 0)),
        waiting: sum(queued, (row) => Number(row.waiting)),
        oldest_seconds: Math.max(0, ...queued.map(({ oldest }) => Math.round((now - timeOfJobId(oldest)) / 1000))),
      };
    }),
    teams: names
      .map(({ id, name }) => ({
        name,
        running: sum(running, (row) => (row.team_id === id ? Number(row.running) : 0)),
        waiting: sum(waiting, (row) => (row.team_id === id ? Number(row.waiting) : 0)),
      }))
      .filter((team) => team.running + team.waiting > 0),
  };
}

const sum = <Row>(rows: readonly Row[], count: (row: Row) => number) => rows.reduce((all, row) => all + count(row), 0);
