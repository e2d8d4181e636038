/** Opens the engines of a server: the one of this machine, and others that it was started with. */
import type { Logger } from "pino";
import { keyFilePath, keyLocation } from "../admin/keys/key-file.ts";
import type { Config } from "../configuration/config.ts";
import type { Engine } from "../engines/engine.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import { readBootId } from "../engines/local/processes/processes.ts";
import { type EngineEvents, Engines, localKind, type OpenEngine, type ReachEvents } from "../engines/registry.ts";
import type { WarehousePlaces } from "../engines/warehouse-view.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Faults } from "../machine/faults.ts";
import type { Signals } from "../turns/signals.ts";
import { opened, type Part } from "./part.ts";

/** Attempts that an engine reported a change of, by its kind: the loop that follows them looks at these at once. */
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
        // A beginning can wait a moment: many scripts have ended by then, and one write records both.
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
        ? log.info({ environment }, "a virtualenv was removed")
        : log.warn({ err: error, environment }, "an old virtualenv could not be removed; it is tried again later"),
  });
  announce(engine, log);
  return engine;
}

function announce({ capabilities, warnings, missing }: LocalEngine, log: Logger): void {
  log.info({ isolation: capabilities.isolation }, "jobs are isolated at this level");
  for (const warning of warnings) log.warn(warning);
  for (const reason of missing) log.warn(`a stronger isolation does not work here: ${reason}`);
}

interface Opening {
  readonly local: LocalEngine;
  readonly others: Readonly<Record<string, OpenEngine>>;
  readonly hints: Hints;
  readonly log: Logger;
}

/** The local engine is a part of its own: it closes after what it confines. */
export const allEngines = ({ local, others, hints, log }: Opening): Part<Engines> => {
  const added: Record<string, Engine> = {};
  const closeAdded = () => Promise.all(Object.values(added).map((engine) => engine.close()));
  return opened(async () => {
    try {
      for (const [kind, open] of Object.entries(others)) added[kind] = await open(hints.of(kind));
    } catch (error) {
      await closeAdded();
      throw error;
    }
    return new Engines({ [localKind]: local, ...added }, reachEvents(log));
  }, closeAdded);
};

const reachEvents = (log: Logger): ReachEvents => ({
  onPause: (kind, error) =>
    log.warn({ engine: kind, why: error.message }, "the engine cannot be reached: no job of its clusters is started"),
  onResume: (kind) => log.info({ engine: kind }, "the engine answers again: jobs of its clusters are started"),
});
