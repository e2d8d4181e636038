/** Options that clusters of all kinds have, because runners and the server carry them out, not the engine. */
import type { Static, TObject } from "typebox";
import { Type } from "../type.ts";

/** Seconds for which a runner without a server goes on, if another attempt may follow. */
export const usualLeaseSeconds = 900;

export const runnerOptions = {
  job_seconds: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description: "maximum run time of a job in seconds; 0 for the server's setting `MILLRACE_JOB_SECONDS`",
  }),
  job_memory: Type.Number({
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description: "maximum memory of a job in GiB; 0 for the server's setting `MILLRACE_JOB_MEMORY`",
  }),
  start_seconds: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description: "a job that waits on the cluster for longer than this many seconds fails; 0 means that it waits",
  }),
  lease_seconds: Type.Integer({
    default: usualLeaseSeconds,
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
  environments_days: Type.Number({
    default: 30,
    minimum: 0,
    maximum: 36_500,
    description: "days without use until a virtualenv in `environments` is removed; 0 keeps it for ever",
  }),
  environments_size: Type.Number({
    default: 50,
    minimum: 0,
    maximum: 1_000_000,
    description:
      "GiB that the virtualenvs in `environments` may occupy together; beyond that, those used longest ago are removed; 0 for no limit",
  }),
  environments_packed: Type.Boolean({
    default: false,
    description: "pack each virtualenv once into the storage of the server; nodes that lack it fetch it from there",
  }),
};

export type RunnerOptions = Static<TObject<typeof runnerOptions>>;
