/** Opens the engine of this machine. */
import type { Logger } from "pino";
import { keyFilePath, keyLocation } from "../admin/keys/key-file.ts";
import type { Config } from "../configuration/config.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import { readBootId } from "../engines/local/processes/processes.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Faults } from "../machine/faults.ts";
import type { Signals } from "../turns/signals.ts";
import { opened, type Part } from "./part.ts";

/** Attempts that the engine reported a change of: the loop that follows attempts looks at these at once. */
export class Hints {
  readonly keys = new Set<string>();
  readonly #signals: Signals;

  constructor(signals: Signals) {
    this.#signals = signals;
  }

  readonly onChange = (key: string, what: string): void => {
    const notice = () => {
      this.keys.add(key);
      this.#signals.observe.wake();
    };
    // A beginning can wait a moment: many scripts have ended by then, and one write records both.
    if (what === "end") notice();
    else setTimeout(notice, 25);
  };
}

interface EngineWiring {
  readonly folder: DataFolder;
  readonly log: Logger;
  readonly faults: Faults;
  readonly hints: Hints;
  readonly bootId: string;
}

export const bootIdOf = async ({ testing }: Config): Promise<string> => testing.bootId || (await readBootId());

export const localEngine = (config: Config, { folder, log, faults, hints, bootId }: EngineWiring): Part<LocalEngine> =>
  opened(
    async () => {
      const engine = await LocalEngine.open({
        ...config.localEngine,
        folders: folder.engine,
        hidden: [keyFilePath(keyLocation(config))],
        limits: config.limits,
        bootId,
        claimDelay: faults.claimDelay,
        jobEnvironment: config.jobEnvironment,
        onChange: hints.onChange,
      });
      announce(engine, log);
      return engine;
    },
    (engine) => engine.close(),
  );

function announce({ capabilities, warnings, missing }: LocalEngine, log: Logger): void {
  log.info({ isolation: capabilities.isolation }, "jobs are isolated at this level");
  for (const warning of warnings) log.warn(warning);
  for (const reason of missing) log.warn(`a stronger isolation does not work here: ${reason}`);
}
