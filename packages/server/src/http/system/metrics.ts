/**
 * HTTP route for metrics: counters of this process, and gauges that are read from the store and the process at each
 * request.
 */
import { type Route, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { diskQuota } from "../../domain/access/quotas.ts";
import { timeOfJobId } from "../../domain/lifecycle/job-ids.ts";
import { gauge } from "../../metrics/server-metrics.ts";
import { contentType, type Family, writeText } from "../../metrics/text.ts";
import { receiverCounts } from "../../store/queries/events/receivers.ts";
import { slotsByTeam } from "../../store/queries/jobs/attempts.ts";
import { activeClusters } from "../../store/queries/jobs/clusters.ts";
import { waitingByTeam } from "../../store/queries/jobs/queue.ts";
import { allUsage, type UsageKind } from "../../store/queries/people/team-usage.ts";
import { allQuotas, teamNames } from "../../store/queries/people/teams.ts";
import type { SystemContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function metricsRoute(app: FastifyInstance, context: SystemContext): void {
  const open = { kind: "public", why: "the operator opened it with MILLRACE_METRICS_OPEN" } as const;
  const route: Route = context.requests.metricsOpen ? { ...routes.metrics, access: open } : routes.metrics;
  register(app, context, route, async ({ reply }) => {
    reply.type(contentType).send(writeText(await allFamilies(context)));
    return undefined;
  });
}

async function allFamilies(context: SystemContext): Promise<Family[]> {
  const teams = new Map((await teamNames(context.store.db)).map(({ id, name }) => [String(id), name]));
  return [
    buildInfo(context),
    ...(await jobFamilies(context)).map((family) => withTeamNames(family, teams)),
    ...(await usageFamilies(context)).map((family) => withTeamNames(family, teams)),
    ...(await receiverFamilies(context)).map((family) => withTeamNames(family, teams)),
    ...context.metrics.families().map((family) => withTeamNames(family, teams)),
    gauge("millrace_disk_free_bytes", "Free space in the data folder.", await context.disk.free()),
    gauge(
      "millrace_disk_low",
      "1 while no job is started because free disk space is low.",
      Number(await context.disk.isLow()),
    ),
    ...processFamilies(),
  ];
}

const kinds = ["datasets", "uploads", "logs", "texts", "exports", "environments"] as const;

async function usageFamilies({ store, quotas }: SystemContext): Promise<Family[]> {
  const [usage, own] = await Promise.all([allUsage(store.db), allQuotas(store.db)]);
  const of = <Row>(rows: readonly Row[], team: (row: Row) => number, value: (row: Row, kind: UsageKind) => number) =>
    rows.flatMap((row) =>
      kinds.map((kind) => ({ labels: { team: String(team(row)), kind }, value: value(row, kind) })),
    );
  return [
    {
      name: "millrace_team_bytes",
      help: "Space used by each team: datasets, uploads, logs of ended jobs, exports and virtualenvs on disk; long texts of jobs in the database.",
      type: "gauge",
      samples: of(
        usage,
        (row) => row.team_id,
        (row, kind) => row[kind],
      ),
    },
    {
      name: "millrace_team_quota_bytes",
      help: "Quota of each team; 0 means no limit.",
      type: "gauge",
      samples: of(
        own,
        (row) => row.id,
        (row, kind) => diskQuota(row, kind, quotas),
      ),
    },
  ];
}

async function receiverFamilies({ store }: SystemContext): Promise<Family[]> {
  const counts = await receiverCounts(store.db);
  const family = (name: string, help: string, value: (row: (typeof counts)[number]) => number): Family => ({
    name,
    help,
    type: "gauge",
    samples: counts.map((row) => ({ labels: { team: String(row.team_id), kind: row.kind }, value: value(row) })),
  });
  return [
    family("millrace_deliveries_waiting", "Deliveries of webhooks and e-mails that are waiting.", ({ waiting }) =>
      Number(waiting),
    ),
    family("millrace_receivers_disabled", "Webhooks and e-mail addresses that are disabled.", ({ disabled }) =>
      Number(disabled),
    ),
  ];
}

/** Replaces the id of a team by its name in the labels. */
const withTeamNames = (family: Family, names: ReadonlyMap<string, string>): Family => ({
  ...family,
  samples: family.samples.map((sample) => {
    const { team } = sample.labels;
    return team === undefined ? sample : { ...sample, labels: { ...sample.labels, team: names.get(team) ?? team } };
  }),
});

/**
 * Builds the metrics of jobs from the queue and the open attempts, which are few. The table of all jobs is never
 * scanned.
 */
async function jobFamilies({ store, clock }: SystemContext): Promise<Family[]> {
  const [clusters, waiting, running] = await Promise.all([
    activeClusters(store.db),
    waitingByTeam(store.db),
    slotsByTeam(store.db),
  ]);
  const sumOf = <Row extends { cluster_id: number }>(rows: readonly Row[], id: number, value: (row: Row) => number) =>
    rows.filter((row) => row.cluster_id === id).reduce((sum, row) => sum + value(row), 0);
  const perCluster = (name: string, help: string, value: (id: number, slots: number) => number): Family => ({
    name,
    help,
    type: "gauge",
    samples: clusters.map((row) => ({ labels: { cluster: row.name }, value: value(row.id, row.max_workers) })),
  });
  const oldestAge = (id: number) => {
    const times = waiting.filter((row) => row.cluster_id === id).map(({ oldest }) => timeOfJobId(oldest));
    return times.length === 0 ? 0 : Math.max(0, clock.now() - Math.min(...times)) / 1000;
  };
  return [
    {
      name: "millrace_jobs",
      help: "Waiting and running jobs, by team.",
      type: "gauge",
      samples: [
        ...byTeam(waiting, "waiting", ({ waiting: count }) => Number(count)),
        ...byTeam(running, "running", ({ running: count }) => Number(count)),
      ],
    },
    perCluster("millrace_queue_length", "Jobs that wait for slots of the cluster.", (id) =>
      sumOf(waiting, id, (row) => Number(row.waiting)),
    ),
    perCluster("millrace_queue_oldest_seconds", "Age of the oldest waiting job; 0 if none waits.", oldestAge),
    perCluster("millrace_slots", "Slots of the cluster.", (_, slots) => slots),
    perCluster("millrace_slots_busy", "Slots in use.", (id) => sumOf(running, id, (row) => Number(row.slots))),
  ];
}

function byTeam<Row extends { team_id: number }>(rows: readonly Row[], state: string, count: (row: Row) => number) {
  const sums = new Map<number, number>();
  for (const row of rows) sums.set(row.team_id, (sums.get(row.team_id) ?? 0) + count(row));
  return [...sums].map(([team, value]) => ({ labels: { team: String(team), state }, value }));
}

const buildInfo = ({ version }: SystemContext): Family => ({
  name: "millrace_build_info",
  help: "Version of the server and of Node.js.",
  type: "gauge",
  samples: [{ labels: { version, node: process.versions.node }, value: 1 }],
});

const startedAt = Date.now() / 1000 - process.uptime();

function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const cpu = { labels: {}, value: (user + system) / 1e6 };
  return [
    { name: "process_cpu_seconds_total", help: "CPU time of the server process.", type: "counter", samples: [cpu] },
    gauge("process_resident_memory_bytes", "Resident memory of the server process.", rss),
    gauge("process_start_time_seconds", "Start time of the server, in seconds since 1970.", startedAt),
    gauge("nodejs_heap_used_bytes", "Heap memory in use by the server process.", heapUsed),
  ];
}
