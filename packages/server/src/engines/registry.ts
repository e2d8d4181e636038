/** The engines of a server, found by the cluster of a job, and which of them cannot be reached now. */
import { type Engine, EngineUnreachable, type LogSource } from "./engine.ts";

/** The kind of the engine on the server's own machine. */
export const localKind = "local";

/** A cluster, or what runs on one: it names the kind of its engine. */
export interface OnCluster {
  readonly engine: string;
}

/** How it is told that an engine cannot be reached, and that it answers again: once each time. */
export interface ReachEvents {
  onPause(kind: string, error: EngineUnreachable): void;
  onResume(kind: string): void;
}

/** What an engine is opened with: it says which attempts may have changed, and so shortens a wait. */
export interface EngineEvents {
  onChange(key: string, what: string): void;
}

/** How a server opens an engine beside the local one. */
export type OpenEngine = (events: EngineEvents) => Promise<Engine>;

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

  /** The engine of a cluster. One that this server does not have is never reached. */
  of({ engine: kind }: OnCluster): Engine {
    return this.#engines.get(kind) ?? absentEngine(kind);
  }

  /** Whether the engine of a cluster cannot be reached: nothing is claimed for the cluster then. */
  isPaused({ engine: kind }: OnCluster): boolean {
    return this.#paused.has(kind) || !this.#engines.has(kind);
  }

  /** Asks the engine of a cluster something: whether it answers decides whether the cluster pauses. */
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

/** The log of an attempt; empty where its engine has none. */
export const openLog = async (engine: Engine, key: string): Promise<LogSource> =>
  engine.openLog ? engine.openLog(key) : emptyLog;

export const emptyLog: LogSource = { size: async () => 0, read: async () => Buffer.alloc(0), close: async () => {} };

function absentEngine(kind: string): Engine {
  const refuse = async () => {
    throw new EngineUnreachable(`This server has no engine of the kind ${kind}.`);
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
