/** Options and secrets of a cluster whose jobs run on Ray. docs/ray.md describes them. */
import type { Static } from "typebox";
import { Type } from "../type.ts";
import { runnerOptions } from "./runner-options.ts";

/** Pairs such as `a=1,b=2`, or nothing. */
const pairs = "^$|^[^=,\\s]+=[^=,\\s]+(,[^=,\\s]+=[^=,\\s]+)*$";

export const RayOptions = Type.Object(
  {
    address: Type.String({
      default: "http://127.0.0.1:8265",
      pattern: "^https?://[^\\s?#@]+$",
      maxLength: 1000,
      description: "URL of the head's dashboard, which serves the Jobs API; without a user name and a password",
    }),
    cpus_per_worker: Type.Number({
      default: 1,
      exclusiveMinimum: 0,
      maximum: 10_000,
      description: "CPUs that Ray reserves for each worker of a job",
    }),
    gpus_per_worker: Type.Number({
      default: 0,
      minimum: 0,
      maximum: 10_000,
      description: "GPUs that Ray reserves for each worker of a job",
    }),
    memory_per_worker: Type.Number({
      default: 0,
      minimum: 0,
      maximum: 1_000_000,
      description: "GiB of memory that Ray reserves for each worker of a job; 0 reserves none",
    }),
    resources: Type.String({
      default: "",
      pattern: pairs,
      maxLength: 1000,
      description: "custom resources that each job needs on its node, such as `ssd=1,licence=0.5`",
    }),
    labels: Type.String({
      default: "",
      pattern: pairs,
      maxLength: 1000,
      description: "labels that the node of a job must have, such as `zone=a,disk=ssd`",
    }),
    python: Type.String({
      default: "python3",
      minLength: 1,
      maxLength: 1000,
      description: "Python 3.9 or newer on the nodes: a name on the PATH or a path",
    }),
    folder: Type.String({
      default: "",
      maxLength: 1000,
      description: "folder on the nodes for the files of running jobs; empty means the node's temporary folder",
    }),
    max_in_flight: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 100_000,
      description: "most jobs that the cluster has at a time, waiting or running: each costs Ray about 85 MB",
    }),
    ...runnerOptions,
  },
  { additionalProperties: false },
);
export type RayOptions = Static<typeof RayOptions>;

export const RaySecrets = Type.Object(
  {
    token: Type.String({
      default: "",
      maxLength: 10_000,
      description: "the cluster's token, as `ray get-auth-token` prints it; empty if the cluster has no authentication",
    }),
  },
  { additionalProperties: false },
);
export type RaySecrets = Static<typeof RaySecrets>;
