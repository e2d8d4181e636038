/** Opens the local engine, and makes the registry of all engines. */
import type { Logger } from "pino";
import { keyFilePath, keyLocation } from "../admin/keys/key-file.ts";
import type { Config } from "../configuration/config.ts";
import { bytesHere, limitsHere } from "../configuration/groups/limits.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import { readBootId } from "../engines/local/processes/processes.ts";
import { type EngineEvents, Engines, type KeptLogs } from "../engines/registry.ts";
import type { WarehousePlaces } from "../engines/warehouse-view.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Faults } from "../machine/faults.ts";
import type { Signals } from "../turns/signals.ts";
import { opened, type Part } from "./part.ts";

/**
 * Collects the keys of attempts for which an engine reported a change, separately for each cluster. The loop
 * `follow-attempts` checks these attempts at once.
 */
export class Hints {
  readonly #signals: Signals;
  readonly #keys = new Map<number, Set<string>>();

  constructor(signals: Signals) {
    this.#signals = signals;
  }

  keys(cluster: number): Set<string> {
    const keys = this.#keys.get(cluster) ?? new Set();
    this.#keys.set(cluster, keys);
    return keys;
  }

  of(cluster: number): EngineEvents {
    return this.#to(() => [this.keys(cluster)]);
  }

  /** For those who know the attempt but not its cluster. */
  get everywhere(): EngineEvents {
    return this.#to(() => [...this.#keys.values()]);
  }

  #to(sets: () => Set<string>[]): EngineEvents {
    return {
      onChange: (key, what) => {
        const notice = () => {
          for (const keys of sets()) keys.add(key);
          this.#signals.observe.wake();
        };
        // The notice of a start is delayed: many scripts have ended by then, and one transaction records the start and
        // the end.
        if (what === "end") notice();
        else setTimeout(notice, 25);
      },
    };
  }
}

interface LocalWiring {
  readonly folder: DataFolder;
  readonly log: Logger;
  readonly faults: Faults;
  readonly onChange: EngineEvents["onChange"];
  readonly warehouses: WarehousePlaces;
  readonly onWarmStart: (outcome: "hit" | "miss") => void;
}

export const localEngine = (config: Config, wiring: LocalWiring): Part<LocalEngine> =>
  opened(
    () => openLocal(config, wiring),
    (engine) => engine.close(),
  );

async function openLocal(config: Config, wiring: LocalWiring): Promise<LocalEngine> {
  const { folder, log, faults, onChange, warehouses, onWarmStart } = wiring;
  const engine = await LocalEngine.open({
    ...config.localEngine,
    folders: folder.engine,
    hidden: [keyFilePath(keyLocation(config))],
    limits: limitsHere(config.limits),
    warmMemory: bytesHere(config.localEngine.warmMemory),
    bootId: config.testing.bootId || (await readBootId()),
    claimDelay: faults.claimDelay,
    jobEnvironment: config.jobEnvironment,
    warehouses,
    onChange,
    onWarmStart,
    onEnvironmentRemoved: (environment, error) =>
      error === undefined
        ? log.info({ environment }, "deleted a virtualenv")
        : log.warn({ err: error, environment }, "could not delete an old virtualenv; trying again later"),
  });
  announce(engine, log);
  return engine;
}

function announce({ capabilities, warnings, missing }: LocalEngine, log: Logger): void {
  log.info({ isolation: capabilities.isolation }, "level of isolation for jobs");
  for (const warning of warnings) log.warn(warning);
  for (const reason of missing)
    log.warn(`jobs run with weaker isolation, because a stronger level does not work on this machine. ${reason}`);
}

/** Returns the registry of engines. It logs when a cluster becomes unreachable, and when it can be reached again. */
export const engineRegistry = (log: Logger, kept: KeptLogs): Engines =>
  new Engines(
    [],
    {
      onPause: (cluster, error) =>
        log.warn({ cluster, why: error.message }, "the engine is unreachable: jobs of its cluster wait"),
      onResume: (cluster) => log.info({ cluster }, "the engine is reachable again: jobs of its cluster start"),
    },
    kept,
  );
