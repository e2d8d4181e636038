/** Opens the engines of a server: the one of this machine, and others that it was started with. */
import type { Logger } from "pino";
import { keyFilePath } from "../admin/keys/key-file.ts";
import type { Config } from "../configuration/config.ts";
import type { Engine } from "../engines/engine.ts";
import type { EngineFolders } from "../engines/local/engine-folders.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import { readBootId } from "../engines/local/processes/processes.ts";
import { type EngineEvents, Engines, localKind, type OpenEngine } from "../engines/registry.ts";
import type { WarehousePlaces } from "../engines/warehouse-view.ts";
import type { Signals } from "../turns/signals.ts";

/** Attempts that an engine said something of, by its kind: whoever follows them looks at these at once. */
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
        // A beginning can wait a moment: many scripts have ended by then, and their one write says it all.
        if (what === "end") notice();
        else setTimeout(notice, 25);
      },
    };
  }
}

interface LocalWiring {
  readonly folders: EngineFolders;
  readonly claimDelay: string;
  readonly events: EngineEvents;
  readonly warehouses: WarehousePlaces;
}

export async function openLocalEngine(config: Config, log: Logger, wiring: LocalWiring): Promise<LocalEngine> {
  const { folders, claimDelay, events, warehouses } = wiring;
  const engine = await LocalEngine.open({
    folders,
    isolation: config.isolation,
    uv: config.uv,
    users: config.jobUsers,
    jobPaths: config.jobPaths,
    hidden: [keyFilePath(config)],
    limits: {
      seconds: config.jobSeconds,
      memory: config.jobMemory,
      processes: config.jobProcesses,
      openFiles: config.jobOpenFiles,
      log: config.jobLog,
      disk: config.jobDisk,
    },
    bootId: config.bootId || (await readBootId()),
    claimDelay,
    jobEnvironment: config.jobEnvironment,
    warehouses,
    onChange: events.onChange,
    onEnvironmentRemoved: (environment, error) =>
      error === undefined
        ? log.info({ environment }, "a virtualenv was removed")
        : log.warn({ err: error, environment }, "an old virtualenv could not be removed; it is tried again later"),
  });
  log.info({ isolation: engine.capabilities.isolation }, "jobs are isolated at this level");
  for (const warning of engine.warnings) log.warn(warning);
  for (const reason of engine.missing) log.warn(`a stronger isolation does not work here: ${reason}`);
  return engine;
}

interface Opening {
  readonly local: LocalEngine;
  readonly others: Readonly<Record<string, OpenEngine>>;
  readonly hints: Hints;
  readonly log: Logger;
}

export async function openEngines({ local, others, hints, log }: Opening): Promise<Engines> {
  const engines: Record<string, Engine> = { [localKind]: local };
  for (const [kind, open] of Object.entries(others)) engines[kind] = await open(hints.of(kind));
  return new Engines(engines, {
    onPause: (kind, error) =>
      log.warn({ engine: kind, why: error.message }, "the engine cannot be reached: no job of its clusters is started"),
    onResume: (kind) => log.info({ engine: kind }, "the engine answers again: jobs of its clusters are started"),
  });
}
