/** States and reasons as Slurm writes them, in words for the job's owner. */

/** States of a job that has not started. */
const waiting = new Set(["PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"]);

/** States of a job that has ended and does not start again. */
const over = new Set([
  ...["BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"],
  ...["REVOKED", "TIMEOUT"],
]);

/** Ends that Slurm concludes from the silence of a node, or of a job that another of its clusters runs. */
const uncertain = new Set(["BOOT_FAIL", "NODE_FAIL", "REVOKED"]);

export const isCertain = (state: string) => !uncertain.has(state);
export const isWaiting = (state: string) => waiting.has(state);
export const isOver = (state: string) => over.has(state);

/** Why a job waits. The first expression that matches applies. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^Resources$/, "no node has enough free resources"],
  [/^Priority$/, "jobs of higher priority are ahead of it"],
  [/^(JobHeldAdmin|JobHeldUser|.*held.*)$/, "it is held; `scontrol release` lets it go on"],
  [
    /^ReqNodeNotAvail|^Nodes_required|^NodeDown|^BadConstraints/,
    "the nodes that it needs are down, drained or reserved",
  ],
  [/^Partition(Down|Inactive)$/, "its partition does not start jobs"],
  [/^Partition(Config|TimeLimit|NodeLimit)$/, "it asks for more than its partition allows"],
  [/^(Assoc|QOS|MaxCpuPerAccount|MaxMemPerLimit)/, "a limit of its account, user or quality of service is reached"],
  [/^(Licenses|Reservation|BeginTime|Dependency|DependencyNeverSatisfied|BurstBuffer\w*)$/, "it waits for a condition"],
];

/** Why a job waits, in words; empty while Slurm has not considered it. */
export function reasonInWords(reason: string): string {
  if (reason === "" || reason === "None") return "";
  const [, words] = reasons.find(([expression]) => expression.test(reason)) ?? [];
  return words === undefined ? `Slurm: ${reason}` : `Slurm: ${words} (${reason})`;
}

/** How Slurm says that a job ended. */
export interface SlurmEnd {
  readonly state: string;
  readonly reason: string;
  /** Exit status of its batch script, as wait(2) returns it. */
  readonly status: number;
}

export function endInWords(job: SlurmEnd): string {
  const [code, signal] = [job.status >> 8, job.status & 127];
  const ending = signal === 0 ? `exit code ${code}${hints[code] ?? ""}` : `signal ${signal}`;
  const reason = job.reason === "None" || job.reason === "" || job.reason === "NonZeroExitCode" ? "" : job.reason;
  return `Slurm: ${[job.state, ending, reason].filter((part) => part !== "").join(", ")}`;
}

/** What exit codes of the shell that starts the runner, and of the runner itself, mean. */
const hints: Readonly<Record<number, string>> = {
  91: ": the server refused the runner",
  92: ": the runner did not reach the server",
  126: ": the Python of the cluster cannot be run on that node",
  127: ": the Python of the cluster is not on that node",
};
