/** What every engine does. Retries, priorities and dependencies are not its business. */
import type { isolationLevels, QueryType, Step, UsageSample } from "@millrace/contract";

export type IsolationLevel = (typeof isolationLevels)[number];

/** How a job works with the datasets of its team. */
export interface DatasetAccess {
  /** Where the team's warehouse lies. */
  readonly folder: string;
  /** Whose members may change it; undefined: the server's own user. */
  readonly group: number | undefined;
  /** Of the two files in it: what is known of datasets, and their rows. */
  readonly metadata: string;
  readonly rows: string;
  /** Whether it was used before: then it must still be there. */
  readonly made: boolean;
  /** Where short names lie. */
  readonly home: { readonly namespace: string; readonly project: string };
  readonly createdAt: string;
  readonly workers: number;
  readonly runGroupId: string;
  readonly rerunFromJobId: string | null;
  /**
   * Listings of storages from before this time are made anew; null: the library decides. In both cases the log says which
   * listing is used; absent: nothing of this.
   */
  readonly listingsSince?: string | null;
}

/** What a command of ours sees that looks after a team's warehouse: it has the rights of the store, and no others. */
export interface WarehouseView {
  /** User and group at once; undefined: the server's own. */
  readonly group: number | undefined;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

/** Where a command may run that a team's code can be part of. */
export interface StrangersPlace {
  /** In front of the command. */
  readonly words: readonly string[];
  /** Ends whatever stayed there. */
  leave(): Promise<void>;
}

export interface JobSpec {
  /** Job and attempt: stored before the submission, so that a submission can be found again. */
  readonly key: string;
  readonly jobId: string;
  readonly teamId: number;
  /** Whose own secrets it carries: it shares no environment with others. Null: none but the team's. */
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
  readonly files: readonly { readonly path: string; readonly name: string }[];
  /** Null: it does not use the library. */
  readonly store: DatasetAccess | null;
}

export interface Exit {
  /** 128 + n for signal n. */
  readonly code: number;
  /** In which phase. */
  readonly phase: string;
  readonly finishedAt: number;
}

export type Observation =
  /** Submitted, not begun. */
  | { readonly state: "PENDING" }
  | { readonly state: "RUNNING"; readonly steps: readonly Step[]; readonly querying: boolean }
  | Exited
  /** It ended without a trace. */
  | { readonly state: "LOST"; readonly steps: readonly Step[]; readonly why: string }
  /** The engine cannot be asked now; never taken for LOST. */
  | { readonly state: "UNKNOWN" };

/** An interpreter, and what it needs to run. */
export interface Python {
  readonly path: string;
  readonly folders: readonly string[];
}

interface Exited {
  readonly state: "EXITED";
  readonly steps: readonly Step[];
  readonly exit: Exit;
  readonly metrics: string | null;
  /** The interpreter that worked with the team's datasets; null: none did. */
  readonly python: Python | null;
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

export interface Engine {
  readonly capabilities: { readonly isolation: IsolationLevel };
  /** Hands over an attempt. Idempotent by key. Throws CannotStart where no retry would help. */
  submit(spec: JobSpec): Promise<void>;
  observe(key: string, bootId: string): Promise<Observation>;
  /** Makes sure that a submission that has not begun never will; idempotent. False: it has begun. */
  withdraw(key: string): Promise<boolean>;
  /** Asks the processes of an attempt to end, or with force ends them. */
  cancel(key: string, force: boolean): Promise<void>;
  /**
   * Takes a sample of what an attempt uses, and ends it when it is over a limit. Called about once a second.
   * `elsewhere`: bytes that it has put on disk outside its folders.
   */
  watch(key: string, elsewhere: number): Promise<void>;
  /** Milliseconds since an attempt began, by a clock that nobody sets; undefined: it has not begun, or is over. */
  age(key: string): Promise<number | undefined>;
  /** Ends an attempt for a reason that its owner is told. */
  end(key: string, why: string): Promise<void>;
  /** The samples so far, oldest first. */
  usage(key: string): Promise<UsageSample[]>;
  /** Ends everything that these attempts left behind; returns those that still have something. */
  sweep(keys: readonly string[]): Promise<string[]>;
  openLog(key: string): Promise<LogSource>;
  /** Keys of every attempt that this engine still has something of. */
  find(): Promise<string[]>;
  /** Drops what is needed no longer; the log stays. */
  cleanup(key: string): Promise<void>;
  close(): Promise<void>;
}

export const attemptKey = (jobId: string, attempt: number) => `${jobId}.${attempt}`;
