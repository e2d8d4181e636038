/** Options of a cluster whose jobs Slurm places. */
import type { Static } from "typebox";
import { Type } from "../type.ts";
import { runnerOptions } from "./runner-options.ts";

/** Flags of sbatch with which a job would no longer be one job of this cluster that the server can follow. */
const refusedFlags = "array|clusters|het-group|hold|job-name|parsable|requeue|test-only|wait|wrap";

const word = (rest: { readonly default: string; readonly description: string }) =>
  Type.String({ maxLength: 200, pattern: "^[^\\s\\0]*$", ...rest });

export const SlurmOptions = Type.Object(
  {
    partition: word({ default: "", description: "partition; empty for Slurm's default partition" }),
    account: word({ default: "", description: "account that jobs are charged to; empty for the user's default" }),
    time: word({
      default: "",
      description: "time limit as Slurm writes it, such as `2-00:00:00`; empty for the partition's default",
    }),
    memory: word({
      default: "",
      description: "memory of each worker, such as `4G`; empty for the partition's default",
    }),
    gpus: word({ default: "", description: "GPUs of each job, such as `1` or `a100:2`; empty for none" }),
    extra_flags: Type.String({
      default: "",
      maxLength: 2000,
      pattern: `^(?!(.*\\s)?--(${refusedFlags})(=|\\s|$))(--[a-z][a-z-]*(=\\S+)?(\\s+|$))*$`,
      description: "further flags of sbatch, such as `--qos=low --constraint=avx512`",
    }),
    nice_step: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 100_000,
      description: "a job of priority N is submitted with `--nice` N times this number; 0 ignores priorities",
    }),
    python: word({
      default: "python3",
      description: "Python on the nodes, 3.9 or newer: a path, or a name in /usr/local/bin, /usr/bin or /bin",
    }),
    runner_output: word({
      default: "/dev/null",
      description: "file on the nodes for messages of runners, as in `--output` of sbatch; logs of jobs are not in it",
    }),
    slurm_conf: word({ default: "", description: "path of slurm.conf on the server; empty for the machine's default" }),
    slurm_bin: word({
      default: "",
      description: "folder of Slurm's commands on the server; /usr/local/bin, /usr/bin and /bin are searched after it",
    }),
    ...runnerOptions,
  },
  { $id: "SlurmOptions", additionalProperties: false },
);
export type SlurmOptions = Static<typeof SlurmOptions>;
