/**
 * The interface of an engine. An engine runs attempts of jobs on machines and reports how they ended. It knows nothing
 * of retries, priorities and dependencies. Methods that only some engines have are optional; callers must work without
 * them.
 */
import type { ClusterIsolation, isolationLevels, QueryType, Step, UsageSample } from "@millrace/contract";
import type { DatasetAccess } from "../datachain/dataset-access.ts";

export type IsolationLevel = (typeof isolationLevels)[number];

/** A file attached to a job. */
export interface JobFile {
  /** File name in the job's folder. */
  readonly name: string;
  /** Reads the content from its beginning. */
  open(): AsyncIterable<Uint8Array>;
  /** Writes the content to a path on this machine, readable by every user. An existing file is replaced. */
  placeAt(path: string): Promise<void>;
}

/** A job as an engine gets it. It contains nothing that depends on a particular machine. */
export interface JobSpec {
  /**
   * Job id and attempt number. The key is stored before the submission, so that the attempt can be found again after a
   * crash.
   */
  readonly key: string;
  readonly jobId: string;
  readonly teamId: number;
  /**
   * Id of the user whose personal secrets the job gets. Such a job does not share its virtualenv with jobs of other
   * users. Null if the job gets only secrets of the team.
   */
  readonly person: number | null;
  readonly name: string | null;
  readonly query: string;
  readonly queryType: QueryType;
  readonly environment: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pythonVersion: string | null;
  readonly requirements: string | null;
  readonly repository: string | null;
  /** Path of the script in the repository; absent if `query` is the script. */
  readonly script?: string;
  /** Whether the job ignores checkpoints of earlier runs. */
  readonly reset: boolean;
  readonly files: readonly JobFile[];
  /** Slots of its cluster that the job occupies; at least 1. */
  readonly workers: number;
  /** 0 runs first, 5 last. */
  readonly priority: number;
  /**
   * Whether another attempt follows if this one is lost, by the rules of this moment. It must not begin while this one
   * may still run.
   */
  readonly isRetried: boolean;
  /** Access to the team's datasets; null if the job does not use the dataset library. */
  readonly datasets: DatasetAccess | null;
}

/** An attempt that has been, or is about to be, submitted to an engine. */
export interface Attempt {
  /** Key under which the attempt was submitted. */
  readonly key: string;
  /** Return value of `submit`; null if that was null, or if the server died before it stored the value. */
  readonly handle: string | null;
  /** Value of `Engine.epoch` that was stored with the attempt before its submission. */
  readonly epoch: string;
}

export interface Exit {
  /** Exit code; 128 + n if signal n ended the process. */
  readonly code: number;
  /** Phase in which the attempt ended, such as `environment` or `query`. */
  readonly phase: string;
  /** Milliseconds since the Unix epoch. */
  readonly finishedAt: number;
}

export type Observation =
  /** The engine has accepted the attempt and starts it soon. */
  | { readonly state: "SUBMITTED" }
  /**
   * The engine has accepted the attempt and starts it when it can, which may take days. The job's owner sees the
   * reason.
   */
  | { readonly state: "WAITING"; readonly reason: string }
  /**
   * The attempt has not started and will not start. The engine never got the attempt, the attempt was withdrawn, or its
   * start failed: `why` says how, if the engine knows.
   */
  | { readonly state: "ABSENT"; readonly why?: string }
  | { readonly state: "RUNNING"; readonly steps: readonly Step[]; readonly querying: boolean }
  | Exited
  /** The attempt ended without an exit code. */
  | ({ readonly state: "LOST"; readonly steps: readonly Step[]; readonly why: string } & Doubt)
  /** The engine cannot determine the state at the moment. The attempt is not treated as LOST then. */
  | { readonly state: "UNKNOWN"; readonly error: unknown };

/** Whether the attempt has ended for certain. */
interface Doubt {
  /** Set if the attempt may go on on a machine that nobody reaches, for ever. No other attempt may follow then. */
  readonly mayRunOn?: true;
}

interface Exited extends Doubt {
  readonly state: "EXITED";
  readonly steps: readonly Step[];
  readonly exit: Exit;
  readonly metrics: string | null;
  /** The limit that the attempt exceeded, in words for the job's owner; null if no limit ended the attempt. */
  readonly overLimit: string | null;
}

/** Reads the raw bytes of a log, in which secrets are not masked. */
export interface LogSource {
  size(): Promise<number>;
  /** Reads up to `length` bytes from `offset`, fewer at the end of the log. */
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Maximum number of characters that are kept of what a cluster says. Everybody who may use the cluster sees it. */
const mostSaid = 1000;

/** Shortens what a cluster says: it may be anything, for example a page of a broken proxy. */
export const shortened = (said: string): string =>
  said.length > mostSaid ? `${said.slice(0, mostSaid).toWellFormed()}…` : said;

/**
 * Thrown if the engine can never start this job, even if the submission is retried. The job's owner sees the message.
 */
export class CannotStart extends Error {
  constructor(message: string) {
    super(shortened(message));
  }
}

/**
 * Thrown if the engine cannot be reached, so that the state of its attempts is unknown. No jobs start on the engine's
 * clusters until it can be reached again.
 */
export class EngineUnreachable extends Error {
  /** What is known of some attempts nevertheless, by key, if attempts were observed. */
  seen?: ReadonlyMap<string, Observation>;

  constructor(message: string, options?: ErrorOptions) {
    super(shortened(message), options);
  }
}

/** A virtualenv that an engine keeps for later jobs. */
export interface KeptEnvironment {
  /** Id of the virtualenv within its engine. */
  readonly id: string;
  readonly bytes: number;
  /** When a job last used the virtualenv, in milliseconds since the Unix epoch. */
  readonly used: number;
}

/** Manages the virtualenvs that an engine keeps. Each belongs to one team. */
export interface EnvironmentKeeper {
  /** Returns the ids of teams that have virtualenvs. */
  teams(): Promise<number[]>;
  list(team: number): Promise<KeptEnvironment[]>;
  /** Returns the bytes on disk of a team's virtualenvs and their package cache. */
  bytes(team: number): Promise<number>;
  /** Returns the ids of the virtualenvs in which these attempts run. */
  usedBy(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Removes a virtualenv and returns true. If a job has used the virtualenv since this time or is about to use it, does
   * nothing and returns false.
   */
  remove(environment: KeptEnvironment, unusedSince: number): Promise<boolean>;
  /** Removes all virtualenvs that no job has used since this time, of all teams. */
  removeUnused(since: number): Promise<void>;
  /** Deletes files that interrupted removals left behind. */
  removeRest(): Promise<void>;
  /** Removes a team's package cache, from which virtualenvs are built, even while a build uses it. */
  removeCache(team: number): Promise<void>;
}

export interface Engine {
  readonly capabilities: { readonly isolation: ClusterIsolation };
  /**
   * A value that the engine chooses. It is stored with every attempt before its submission and passed back as
   * `Attempt.epoch`. The local engine uses the boot id of its machine.
   */
  readonly epoch?: string;
  /** The most attempts that the engine should have at a time, whatever their slots; absent if only slots limit them. */
  readonly inFlight?: number;
  /**
   * Submits an attempt. Returns a handle to store, or null if the key is enough to find the attempt. Repeating the call
   * with the same key is safe. Throws CannotStart if no retry would help, and EngineUnreachable if it is unknown
   * whether the attempt arrived.
   */
  submit(spec: JobSpec): Promise<string | null>;
  /**
   * Returns the state of these attempts by key; an attempt that is missing from the result is UNKNOWN. Throws
   * EngineUnreachable if the engine cannot be reached. With an empty list, it only checks whether the engine can be
   * reached.
   */
  observe(attempts: readonly Attempt[]): Promise<ReadonlyMap<string, Observation>>;
  /**
   * Prevents a submitted attempt from starting. Can be called repeatedly. Returns false if the attempt has already
   * started.
   */
  withdraw(attempt: Attempt): Promise<boolean>;
  /**
   * Returns whether an attempt that ran has ended, if the engine can tell without a call to its cluster. Absent if
   * `observe` needs none either.
   */
  hasEnded?(key: string): Promise<boolean>;
  /** Asks the processes of an attempt to end, or kills them if `force` is set. */
  cancel(attempt: Attempt, force: boolean): Promise<void>;
  /** Ends an attempt. `why` becomes the job's error message. */
  end(attempt: Attempt, why: string): Promise<void>;
  /** Returns the keys of all attempts of which the engine still has files or processes. */
  find(): Promise<string[]>;
  /** Deletes the files of an ended attempt except its log. */
  cleanup(key: string): Promise<void>;
  close(): Promise<void>;

  /** Opens the attempt's log, if the engine keeps logs. */
  openLog?(key: string): Promise<LogSource>;
  /** Returns the bytes that the log occupies on the server's disk. */
  logBytes?(key: string): Promise<number>;
  /** Deletes all files of an ended attempt, including its log. */
  forget?(key: string): Promise<void>;
  /**
   * Samples the resource usage of an attempt, and ends the attempt if it exceeds a limit. Called about once a second.
   * `elsewhere` is the number of bytes that the attempt has written outside its folders.
   */
  watch?(key: string, elsewhere: number): Promise<void>;
  /** Returns the usage samples so far, oldest first. */
  usage?(key: string): Promise<UsageSample[]>;
  /**
   * Returns milliseconds since the attempt started, by a monotonic clock; undefined if it has not started or has ended.
   */
  age?(key: string): Promise<number | undefined>;
  /**
   * Kills the processes that these ended attempts left behind. Returns the keys of attempts that still have processes.
   * An engine without this method must report EXITED or LOST only when no process is left.
   */
  sweep?(keys: readonly string[]): Promise<string[]>;
  readonly environments?: EnvironmentKeeper;
}

export const attemptKey = (jobId: string, attempt: number) => `${jobId}.${attempt}`;
/** The id of the job in the key of one of its attempts. */
export const jobIdOf = (key: string) => key.slice(0, key.lastIndexOf("."));
