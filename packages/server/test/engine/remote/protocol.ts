/** The protocol between the two halves of the fake remote engine. */
import type { Attempt, JobSpec } from "../../../src/engines/engine.ts";

/** A job as it is transmitted, including its files. */
export interface RemoteJob extends Pick<JobSpec, "key" | "query" | "queryType" | "pythonVersion" | "environment"> {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  /** A feature that the job needs and the fake does not have. */
  readonly needs: readonly string[];
  /** Seconds to wait before the job starts. */
  readonly delay: number;
}

export type Call =
  | { readonly name: "submit"; readonly job: RemoteJob }
  | { readonly name: "observe"; readonly attempts: readonly Attempt[] }
  | { readonly name: "withdraw" | "cleanup"; readonly key: string }
  | { readonly name: "cancel"; readonly key: string; readonly force: boolean }
  | { readonly name: "end"; readonly key: string; readonly why: string }
  | { readonly name: "find" }
  | { readonly name: "read-log"; readonly key: string; readonly offset: number; readonly length: number };
