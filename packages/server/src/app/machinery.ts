/** Starts the parts that jobs need: the engines, the warehouses of the teams and the blob storage. */
import type { Blobs } from "../blobs/blobs.ts";
import { Packs } from "../blobs/packs.ts";
import { prepareLocalCluster } from "../domain/lifecycle/first-start.ts";
import { keptLogs } from "../engines/kept-logs.ts";
import type { LocalEngine } from "../engines/local/local-engine.ts";
import type { OpenEngine } from "../engines/registry.ts";
import { Runners } from "../engines/runners/runners.ts";
import type { WarehousePlaces } from "../engines/warehouse-view.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { WarehouseMeasures } from "../execution/measure-warehouses.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import { Disk } from "../machine/disk.ts";
import { readFaults } from "../machine/faults.ts";
import type { ClusterRow } from "../store/queries/jobs/clusters.ts";
import { Signals } from "../turns/signals.ts";
import { Warehouses } from "../warehouses/warehouses.ts";
import { claimedBlobs, logArchive } from "./blob-parts.ts";
import { ClusterEngines } from "./cluster-engines.ts";
import { engineOpeners } from "./engine-kinds.ts";
import { engineRegistry, Hints, localEngine } from "./engines.ts";
import { opened, type Part, type StartedParts } from "./part.ts";
import type { PreparedStore } from "./prepared-store.ts";
import type { Surroundings } from "./surroundings.ts";

export interface Machinery {
  readonly execution: ExecutionContext;
  readonly warehouses: Warehouses;
  readonly measures: WarehouseMeasures;
  readonly blobs: Blobs;
  readonly packs: Packs;
  readonly archive: LogArchive | undefined;
  readonly hints: Hints;
  readonly runners: Runners;
  readonly clusters: ClusterEngines;
  /** The cluster of the server's own machine. */
  readonly local: ClusterRow;
}

export async function startMachinery(
  parts: StartedParts,
  { config, folder, log, clock, metrics, changes, beforeRivalExit }: Surroundings,
  { store, keys, serverId }: PreparedStore,
  others: Readonly<Record<string, OpenEngine>>,
  url: () => string,
): Promise<Machinery> {
  const signals = new Signals(changes);
  const faults = readFaults(config.testing.fault);
  const disk = new Disk(folder.path, config.data.diskFloor, clock);
  const hints = new Hints(signals);
  // The engine and the warehouses refer to each other. The engine calls these functions only when it runs jobs, and by
  // then both exist.
  const places: WarehousePlaces = {
    use: (team) => warehouses.use(team),
    remember: (team, python) => warehouses.remember(team, python),
  };
  const { onChange } = hints.everywhere;
  const onWarmStart = (outcome: "hit" | "miss") => metrics.warmStarts.add({ outcome });
  const wiring = { folder, log, faults, onChange, warehouses: places, onWarmStart };
  const engine = await parts.start(localEngine(config, wiring));
  void engine.prepare();
  beforeRivalExit.add(() => endAll(engine));
  metrics.waitingInterpreters = () => engine.waitingInterpreters;
  const blobs = await claimedBlobs(folder, config, serverId);
  const packs = new Packs(blobs, config.retention.packsSize, () => clock.now());
  const archive = logArchive(folder, blobs, faults);
  const warehouses: Warehouses = await parts.start(teamWarehouses(folder, engine));
  const engines = engineRegistry(log, keptLogs(folder.jobs));
  const local = await prepareLocalCluster(store, config.jobs.maxWorkers, engine.capabilities.isolation);
  engines.add(local.id, engine);
  // A runner's call names the attempt but not its cluster.
  const runners = new Runners(folder.jobs, onChange);
  const clusters = await parts.start(
    clusterEngines({
      ...{ store, keys, log, engines },
      kinds: { ...engineOpeners, ...others },
      surroundings: (cluster) => ({ runners, jobsDir: folder.jobs, url, limits: config.limits, ...hints.of(cluster) }),
    }),
  );
  const measures = new WarehouseMeasures({ store, engines, warehouses, serverId, quotas: config.quotas });
  const execution = { store, keys, serverId, engines, signals, clock, log, faults, metrics, disk };
  return { execution, warehouses, measures, blobs, packs, archive, hints, runners, clusters, local };
}

/** Ends everything that runs on this machine, because another server has taken over its jobs. */
async function endAll(engine: LocalEngine): Promise<void> {
  const keys = await engine.find();
  for (const key of keys) await engine.end({ key, handle: null, epoch: "" }, "Another server has taken over the job.");
  await engine.sweep(keys);
}

const clusterEngines = (options: ConstructorParameters<typeof ClusterEngines>[0]): Part<ClusterEngines> =>
  opened(
    async () => new ClusterEngines(options),
    (clusters) => clusters.stop(),
  );

const teamWarehouses = (folder: DataFolder, engine: LocalEngine): Part<Warehouses> =>
  opened(
    async () =>
      new Warehouses(folder.warehouses, {
        confine: (view) => engine.confine(view),
        confineStrangers: (view) => engine.confineStrangers(view),
      }),
    (warehouses) => warehouses.close(),
  );
