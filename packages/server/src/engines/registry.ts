/** Holds the engines of a server, by cluster, and tracks which of them cannot be reached. */
import { type Engine, EngineUnreachable, type LogSource } from "./engine.ts";
import type { RemoteLimits } from "./limit-words.ts";
import type { Runners } from "./runners/runners.ts";

/**
 * Callbacks for a cluster that becomes unreachable (`onPause`) or reachable again (`onResume`). Each is called once per
 * change.
 */
export interface ReachEvents {
  onPause(cluster: number, error: EngineUnreachable): void;
  onResume(cluster: number): void;
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
  /** Limits of every job. */
  readonly limits: RemoteLimits;
}

/** What an engine gets of its cluster. The contract's schema has checked the options. */
export interface EngineSettings {
  readonly options: object;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Opens an engine other than the local one. Must not wait for the cluster, which may be away for hours. */
export type OpenEngine = (given: EngineSurroundings & EngineSettings) => Promise<Engine>;

const silent: ReachEvents = { onPause: () => {}, onResume: () => {} };

/** The part of an engine that works without the engine: the logs of ended attempts. */
export type KeptLogs = Pick<Engine, "openLog" | "logBytes" | "forget">;

export class Engines {
  readonly #engines: Map<number, Engine>;
  readonly #events: ReachEvents;
  readonly #absent: Engine;
  /** Why each cluster that cannot be reached cannot. */
  readonly #unreachable = new Map<number, string>();

  /** `kept` gives access to the logs of clusters that have no engine now. */
  constructor(engines: Iterable<readonly [number, Engine]> = [], events: ReachEvents = silent, kept: KeptLogs = {}) {
    this.#engines = new Map(engines);
    this.#events = events;
    this.#absent = { ...absentEngine, ...kept };
  }

  all(): Engine[] {
    return [...this.#engines.values()];
  }

  /** Whether another engine than this one is the engine of a cluster. */
  isOfAnother(cluster: number, engine: Engine): boolean {
    const owner = this.#engines.get(cluster);
    return owner !== undefined && owner !== engine;
  }

  add(cluster: number, engine: Engine): void {
    this.#engines.set(cluster, engine);
  }

  remove(cluster: number): void {
    this.#engines.delete(cluster);
    this.#unreachable.delete(cluster);
  }

  /** Returns the engine of a cluster. If there is none, returns an engine that cannot be reached. */
  of(cluster: number): Engine {
    return this.#engines.get(cluster) ?? this.#absent;
  }

  /** Returns why a cluster cannot be reached; undefined if it can. No jobs are claimed for an unreachable cluster. */
  whyUnreachable(cluster: number): string | undefined {
    return this.#unreachable.get(cluster) ?? (this.#engines.has(cluster) ? undefined : notOpen);
  }

  /** Calls the engine of a cluster. If it cannot be reached, the cluster is paused until a later call succeeds. */
  async ask<T>(cluster: number, question: (engine: Engine) => Promise<T>): Promise<T> {
    try {
      const answer = await question(this.of(cluster));
      if (this.#unreachable.delete(cluster)) this.#events.onResume(cluster);
      return answer;
    } catch (error) {
      if (error instanceof EngineUnreachable) this.#pause(cluster, error);
      throw error;
    }
  }

  #pause(cluster: number, error: EngineUnreachable): void {
    if (!this.#unreachable.has(cluster)) this.#events.onPause(cluster, error);
    this.#unreachable.set(cluster, error.message);
  }
}

/** Opens the log of an attempt. If the engine keeps no logs, returns an empty log. */
export const openLog = async (engine: Engine, key: string): Promise<LogSource> =>
  engine.openLog ? engine.openLog(key) : emptyLog;

export const emptyLog: LogSource = { size: async () => 0, read: async () => Buffer.alloc(0), close: async () => {} };

const notOpen = "This server has no engine for the cluster.";

const refuse = async () => {
  throw new EngineUnreachable(notOpen);
};

const absentEngine: Engine = {
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
