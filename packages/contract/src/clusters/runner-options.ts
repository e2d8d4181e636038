/** Options that clusters of all kinds have, because runners and the server carry them out, not the engine. */
import type { Static, TObject } from "typebox";
import { Type } from "../type.ts";

/** A size in GiB. */
const gibibytes = (description: string) =>
  Type.Number({ default: 0, minimum: 0, maximum: 1_000_000, description: `${description}; 0 means no limit` });

export const runnerOptions = {
  job_seconds: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description: "maximum run time of a job in seconds, including the build of its virtualenv; 0 means no limit",
  }),
  job_memory: gibibytes("maximum memory of all processes of a job, in GiB"),
  job_disk: gibibytes("maximum size of a job's own files, in GiB"),
  job_log: gibibytes("maximum size of a job's log, in GiB"),
  job_processes: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 4_194_304,
    description: "maximum number of processes of a job; 0 means no limit",
  }),
  start_seconds: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description: "a job that waits on the cluster for longer than this many seconds fails; 0 means that it waits",
  }),
  lease_seconds: Type.Integer({
    default: 900,
    minimum: 60,
    maximum: 1_000_000,
    description: "a job with retries is ended if its node cannot reach the server for this many seconds",
  }),
  environments: Type.String({
    default: "",
    maxLength: 1000,
    pattern: "^(/[^\\0]*)?$",
    description: "folder on the nodes in which virtualenvs are kept for later jobs; empty to build one for each job",
  }),
};

export type RunnerOptions = Static<TObject<typeof runnerOptions>>;
