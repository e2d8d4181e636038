/** Opens the engines of a server: the local engine, and the engines that the caller passed in. */
import type { Logger } from "pino";
import { keyFilePath, keyLocation } from "../admin/keys/key-file.ts";
import type { Config } from "../configuration/config.ts";
import type { Engine } from "../engines/engine.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import { readBootId } from "../engines/local/processes/processes.ts";
import {
  type EngineEvents,
  type EngineSurroundings,
  Engines,
  localKind,
  type OpenEngine,
  type ReachEvents,
} from "../engines/registry.ts";
import type { WarehousePlaces } from "../engines/warehouse-view.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Faults } from "../machine/faults.ts";
import type { Signals } from "../turns/signals.ts";
import { opened, type Part } from "./part.ts";

/**
 * Collects the keys of attempts for which an engine reported a change, separately for each kind of engine. The loop
 * `follow-attempts` checks these attempts at once.
 */
export class Hints {
  readonly #signals: Signals;
  readonly #keys = new Map<string, Set<string>>();

  constructor(signals: Signals) {
    this.#signals = signals;
  }

  keys(kind: string): Set<string> {
    const keys = this.#keys.get(kind) ?? new Set();
    this.#keys.set(kind, keys);
    return keys;
  }

  of(kind: string): EngineEvents {
    return {
      onChange: (key, what) => {
        const notice = () => {
          this.keys(kind).add(key);
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
  readonly hints: Hints;
  readonly warehouses: WarehousePlaces;
}

export const localEngine = (config: Config, wiring: LocalWiring): Part<LocalEngine> =>
  opened(
    () => openLocal(config, wiring),
    (engine) => engine.close(),
  );

async function openLocal(config: Config, wiring: LocalWiring): Promise<LocalEngine> {
  const { folder, log, faults, hints, warehouses } = wiring;
  const engine = await LocalEngine.open({
    ...config.localEngine,
    folders: folder.engine,
    hidden: [keyFilePath(keyLocation(config))],
    limits: config.limits,
    bootId: config.testing.bootId || (await readBootId()),
    claimDelay: faults.claimDelay,
    jobEnvironment: config.jobEnvironment,
    warehouses,
    onChange: hints.of(localKind).onChange,
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

interface Opening {
  readonly local: LocalEngine;
  readonly others: Readonly<Record<string, OpenEngine>>;
  readonly surroundings: Omit<EngineSurroundings, keyof EngineEvents>;
  readonly hints: Hints;
  readonly log: Logger;
}

/**
 * Opens the additional engines and returns the registry of all engines. The local engine is opened separately, because
 * it must close later: the processes that run in its sandboxes must stop first.
 */
export const allEngines = ({ local, others, surroundings, hints, log }: Opening): Part<Engines> => {
  const added: Record<string, Engine> = {};
  const closeAdded = () => Promise.all(Object.values(added).map((engine) => engine.close()));
  return opened(async () => {
    try {
      for (const [kind, open] of Object.entries(others))
        added[kind] = await open({ ...surroundings, ...hints.of(kind) });
    } catch (error) {
      await closeAdded();
      throw error;
    }
    return new Engines({ [localKind]: local, ...added }, reachEvents(log));
  }, closeAdded);
};

const reachEvents = (log: Logger): ReachEvents => ({
  onPause: (kind, error) =>
    log.warn({ engine: kind, why: error.message }, "the engine is unreachable: jobs of its clusters wait"),
  onResume: (kind) => log.info({ engine: kind }, "the engine is reachable again: jobs of its clusters start"),
});
