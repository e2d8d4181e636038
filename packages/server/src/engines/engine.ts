/** What every engine does. Retries, priorities and dependencies are not its business. */
import type { QueryType, Step } from "@millrace/contract";

export interface JobSpec {
  /** Job and attempt: stored before the submission, so that a submission can be found again. */
  readonly key: string;
  readonly jobId: string;
  readonly teamId: number;
  readonly name: string | null;
  readonly query: string;
  readonly queryType: QueryType;
  readonly environment: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pythonVersion: string | null;
  readonly requirements: string | null;
  readonly repository: string | null;
  /** Ignore checkpoints. */
  readonly reset: boolean;
  readonly files: readonly { readonly path: string; readonly name: string }[];
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
  | { readonly state: "EXITED"; readonly steps: readonly Step[]; readonly exit: Exit; readonly metrics: string | null }
  /** It ended without a trace. */
  | { readonly state: "LOST"; readonly steps: readonly Step[]; readonly why: string }
  /** The engine cannot be asked now; never taken for LOST. */
  | { readonly state: "UNKNOWN" };

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
  readonly capabilities: { readonly isolation: "none" | "uid" | "bwrap" };
  /** Hands over an attempt. Idempotent by key. Throws CannotStart where no retry would help. */
  submit(spec: JobSpec): Promise<void>;
  observe(key: string, bootId: string): Promise<Observation>;
  /** Makes sure that a submission that has not begun never will; idempotent. False: it has begun. */
  withdraw(key: string): Promise<boolean>;
  /** Asks the processes of an attempt to end, or with force ends them. */
  cancel(key: string, force: boolean): Promise<void>;
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
