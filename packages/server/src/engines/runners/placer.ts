/**
 * The interface of a placer: the part of an engine that brings a runner to a machine. Everything else, from the claim to
 * the result, is between the runner and the server, and the same for all engines.
 */

/** What a placer starts: the runner, with the variables that it needs. */
export interface Placement {
  /** Key of the attempt. A placer that is asked twice for one key places one runner, if it can tell. */
  readonly key: string;
  /** The text of the runner's Python file. */
  readonly runner: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Number of slots that the job occupies. */
  readonly workers: number;
  /** Priority of the job: 0 runs first, 5 last. */
  readonly priority: number;
  /** Whether an earlier call for this key may have placed a runner. If not, there is none to look for. */
  readonly isRepeated: boolean;
}

/** A runner that has been placed and has not ended, as the engine lists it. */
export interface Placed {
  /** Whether the runner has been started. */
  readonly isRunning: boolean;
  /** Why the runner has not been started yet, for the job's owner; empty if the engine says nothing. */
  readonly reason: string;
  /** Set if the engine has given the runner up before it started. Nothing of the job has run then. */
  readonly isGivenUp?: true;
}

/** A runner of which the engine says that it has ended. */
export interface EndedRunner {
  /** In words for the job's owner. */
  readonly how: string;
  /** False if the engine has only lost sight of the runner's node: the runner may go on there. */
  readonly isCertain: boolean;
}

export interface Placer {
  /** The most runners that the engine should have at a time; absent if only slots limit them. */
  readonly inFlight?: number;
  /**
   * A runner of which nothing else is known has ended if it was missing in the list for this many milliseconds. The
   * engine chooses if this is absent.
   */
  readonly absentMs?: number;
  /** Whether nothing remains of a runner that has ended by itself, so that it need not be removed. */
  readonly leavesNothing?: boolean;
  /** Returns a handle to store. Throws CannotStart or EngineUnreachable like `Engine.submit`. */
  place(placement: Placement): Promise<string>;
  /** Lists all runners that have been placed and have not ended, by key. Throws EngineUnreachable if it cannot. */
  list(): Promise<ReadonlyMap<string, Placed>>;
  /**
   * Returns those of these runners, by key, of which the engine says that they have ended. They are no longer in the
   * list.
   */
  ended?(keys: readonly string[]): Promise<ReadonlyMap<string, EndedRunner>>;
  /** Removes a runner, whether it waits or runs. Does nothing if there is none. */
  remove(key: string, handle: string | null): Promise<void>;
  /** Removes several runners in fewer calls than one for each; absent if the engine has no such call. */
  removeAll?(keys: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
