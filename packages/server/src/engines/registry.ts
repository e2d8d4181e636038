/** Holds the engines of a server. It finds the engine of a cluster and tracks which engines cannot be reached. */
import { type Engine, EngineUnreachable, type LogSource } from "./engine.ts";
import type { Runners } from "./runners/runners.ts";

/** Kind of the engine that runs jobs on the server's own machine. */
export const localKind = "local";

/** A cluster, or an attempt that runs on a cluster. `engine` is the kind of the cluster's engine. */
export interface OnCluster {
  readonly engine: string;
}

/**
 * Callbacks for an engine that becomes unreachable (`onPause`) or reachable again (`onResume`). Each is called once per
 * change.
 */
export interface ReachEvents {
  onPause(kind: string, error: EngineUnreachable): void;
  onResume(kind: string): void;
}

/**
 * Callback with which an engine reports that an attempt may have changed. Without it, the server notices the change
 * only when it next polls the engine.
 */
export interface EngineEvents {
  onChange(key: string, what: string): void;
}

/** What an engine other than the local one gets of the server. */
export interface EngineSurroundings extends EngineEvents {
  readonly runners: Runners;
  readonly jobsDir: string;
  /** Returns the URL at which runners reach the server. */
  readonly url: () => string;
}

/** Opens an engine other than the local one. */
export type OpenEngine = (surroundings: EngineSurroundings) => Promise<Engine>;

const silent: ReachEvents = { onPause: () => {}, onResume: () => {} };

export class Engines {
  readonly #engines: ReadonlyMap<string, Engine>;
  readonly #events: ReachEvents;
  readonly #paused = new Set<string>();

  constructor(engines: Readonly<Record<string, Engine>>, events: ReachEvents = silent) {
    this.#engines = new Map(Object.entries(engines));
    this.#events = events;
  }

  kinds(): string[] {
    return [...this.#engines.keys()];
  }

  all(): Engine[] {
    return [...this.#engines.values()];
  }

  /**
   * Returns the engine of a cluster. If the server has no engine of that kind, returns an engine whose methods throw
   * EngineUnreachable.
   */
  of({ engine: kind }: OnCluster): Engine {
    return this.#engines.get(kind) ?? absentEngine(kind);
  }

  /** Whether the engine of a cluster cannot be reached. If so, no jobs are claimed for the cluster. */
  isPaused({ engine: kind }: OnCluster): boolean {
    return this.#paused.has(kind) || !this.#engines.has(kind);
  }

  /** Calls the engine of a cluster. If the engine is unreachable, the cluster is paused until a later call succeeds. */
  async ask<T>(cluster: OnCluster, question: (engine: Engine) => Promise<T>): Promise<T> {
    try {
      const answer = await question(this.of(cluster));
      if (this.#paused.delete(cluster.engine)) this.#events.onResume(cluster.engine);
      return answer;
    } catch (error) {
      if (error instanceof EngineUnreachable) this.#pause(cluster.engine, error);
      throw error;
    }
  }

  #pause(kind: string, error: EngineUnreachable): void {
    if (this.#paused.has(kind)) return;
    this.#paused.add(kind);
    this.#events.onPause(kind, error);
  }
}

/** Opens the log of an attempt. If the engine keeps no logs, returns an empty log. */
export const openLog = async (engine: Engine, key: string): Promise<LogSource> =>
  engine.openLog ? engine.openLog(key) : emptyLog;

export const emptyLog: LogSource = { size: async () => 0, read: async () => Buffer.alloc(0), close: async () => {} };

function absentEngine(kind: string): Engine {
  const refuse = async () => {
    throw new EngineUnreachable(`This server has no engine of the kind "${kind}".`);
  };
  return {
    capabilities: { isolation: "none" },
    submit: refuse,
    observe: refuse,
    withdraw: refuse,
    cancel: refuse,
    end: refuse,
    find: async () => [],
    cleanup: refuse,
    close: async () => {},
  };
}
