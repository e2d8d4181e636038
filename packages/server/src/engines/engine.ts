/**
 * What an engine is: it places attempts of jobs on machines, and says what became of them. Retries, priorities and
 * dependencies are not its business. What only some engines can do is optional, and whoever asks for it does without.
 */
import type { isolationLevels, QueryType, Step, UsageSample } from "@millrace/contract";
import type { DatasetAccess } from "../datachain/dataset-access.ts";

export type IsolationLevel = (typeof isolationLevels)[number];

/** A file that a job takes along: its name in the job's folder, and its content, wherever that lies. */
export interface JobFile {
  readonly name: string;
  /** The content from its beginning. */
  open(): AsyncIterable<Uint8Array>;
  /** Puts the content at a path of this machine, for everybody to read, in the place of what lies there. */
  placeAt(path: string): Promise<void>;
}

/** A job as an engine is given it: nothing in it is a fact of one machine. */
export interface JobSpec {
  /** Job and attempt: stored before the submission, so that a submission can be found again. */
  readonly key: string;
  readonly jobId: string;
  readonly teamId: number;
  /** The person whose own secrets it carries: it shares no environment with others. Null: none but the team's. */
  readonly person: number | null;
  readonly name: string | null;
  readonly query: string;
  readonly queryType: QueryType;
  readonly environment: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pythonVersion: string | null;
  readonly requirements: string | null;
  readonly repository: string | null;
  /** Path of the script in the repository; absent: the query is the script. */
  readonly script?: string;
  /** Ignore checkpoints. */
  readonly reset: boolean;
  readonly files: readonly JobFile[];
  /** Null: it does not use the library. */
  readonly datasets: DatasetAccess | null;
}

/** An attempt that was, or is about to be, handed to an engine. */
export interface Attempt {
  /** The name under which it was handed over. */
  readonly key: string;
  /** What `submit` answered; null: nothing, or the server died before it could write it down. */
  readonly handle: string | null;
  /** The engine's epoch when the attempt was opened. */
  readonly epoch: string;
}

export interface Exit {
  /** 128 + n for signal n. */
  readonly code: number;
  /** The phase in which it ended. */
  readonly phase: string;
  readonly finishedAt: number;
}

export type Observation =
  /** The engine has it, and begins it soon. */
  | { readonly state: "SUBMITTED" }
  /** The engine has it, and begins it when it can, perhaps in days. The reason is for the job's owner. */
  | { readonly state: "WAITING"; readonly reason: string }
  /** It has not begun, and will not by itself: it never arrived, was withdrawn, or its start went astray. */
  | { readonly state: "ABSENT" }
  | { readonly state: "RUNNING"; readonly steps: readonly Step[]; readonly querying: boolean }
  | Exited
  /** It ended without a trace. */
  | { readonly state: "LOST"; readonly steps: readonly Step[]; readonly why: string }
  /** The engine cannot tell now; never taken for LOST. */
  | { readonly state: "UNKNOWN"; readonly error: unknown };

interface Exited {
  readonly state: "EXITED";
  readonly steps: readonly Step[];
  readonly exit: Exit;
  readonly metrics: string | null;
  /** The limit that it went over, in words for the job's owner; null: it ended by itself. */
  readonly overLimit: string | null;
}

/** The bytes of a log as they stand. */
export interface LogSource {
  size(): Promise<number>;
  /** Up to `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** A job that this engine cannot start, whatever is tried: its message is for the job's owner. */
export class CannotStart extends Error {}

/** The engine cannot be asked: nothing is known of what was handed to it. Its cluster pauses until it answers again. */
export class EngineUnreachable extends Error {}

/** A virtualenv that an engine keeps for later jobs. */
export interface KeptEnvironment {
  /** Names it, for its engine. */
  readonly id: string;
  readonly bytes: number;
  /** When a job last took it, in milliseconds since the epoch. */
  readonly used: number;
}

/** Virtualenvs that an engine keeps, each for one team. */
export interface EnvironmentKeeper {
  /** Teams that have some. */
  teams(): Promise<number[]>;
  list(team: number): Promise<KeptEnvironment[]>;
  /** What a team's take on disk, with their cache. */
  bytes(team: number): Promise<number>;
  /** Those that these attempts run in. */
  usedBy(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Removes one, unless a job has taken it since this time, or is about to. Returns whether it is gone. */
  remove(environment: KeptEnvironment, unusedSince: number): Promise<boolean>;
  /** Removes those of every team that no job has taken since this time. */
  removeUnused(since: number): Promise<void>;
  /** Removes what earlier removals left behind. */
  removeRest(): Promise<void>;
  /** Removes the cache that a team's environments are built from, also while one is being built. */
  removeCache(team: number): Promise<void>;
}

export interface Engine {
  readonly capabilities: { readonly isolation: IsolationLevel };
  /**
   * Kept with every attempt before it is handed over, and shown to the engine with every question about it. Only the
   * engine knows what it means; the local one names the boot of its machine.
   */
  readonly epoch?: string;
  /**
   * Hands over an attempt, and returns a handle to keep, or null where the key is enough. Idempotent by key. Throws
   * CannotStart where no retry would help, and EngineUnreachable where it is not known whether it arrived.
   */
  submit(spec: JobSpec): Promise<string | null>;
  /**
   * What became of these attempts, by key; an attempt that is left out is UNKNOWN. Throws EngineUnreachable where the
   * engine cannot be asked; asked about none, it says that way whether it can be.
   */
  observe(attempts: readonly Attempt[]): Promise<ReadonlyMap<string, Observation>>;
  /** Makes sure that a submission that has not begun never will; idempotent. False: it has begun. */
  withdraw(attempt: Attempt): Promise<boolean>;
  /** Asks the processes of an attempt to end, or with force ends them. */
  cancel(attempt: Attempt, force: boolean): Promise<void>;
  /** Ends an attempt for a reason that its owner is told. */
  end(attempt: Attempt, why: string): Promise<void>;
  /** Keys of every attempt that this engine still has something of. */
  find(): Promise<string[]>;
  /** Drops what is needed no longer; the log stays. */
  cleanup(key: string): Promise<void>;
  close(): Promise<void>;

  /** The log, where the engine has it. */
  openLog?(key: string): Promise<LogSource>;
  /** What the log takes on the server's disk. */
  logBytes?(key: string): Promise<number>;
  /** Removes everything of an attempt that ended, its log too. */
  forget?(key: string): Promise<void>;
  /**
   * Takes a sample of what an attempt uses, and ends it when it is over a limit. Called about once a second.
   * `elsewhere`: bytes that it has put on disk outside its folders.
   */
  watch?(key: string, elsewhere: number): Promise<void>;
  /** The samples so far, oldest first. */
  usage?(key: string): Promise<UsageSample[]>;
  /** Milliseconds since an attempt began, by a clock that nobody sets; undefined: it has not begun, or is over. */
  age?(key: string): Promise<number | undefined>;
  /**
   * Ends everything that these attempts left behind; returns those that still have something. An engine without it says
   * EXITED or LOST only when nothing is left.
   */
  sweep?(keys: readonly string[]): Promise<string[]>;
  readonly environments?: EnvironmentKeeper;
}

export const attemptKey = (jobId: string, attempt: number) => `${jobId}.${attempt}`;
