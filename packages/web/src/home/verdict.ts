/** Says in one sentence whether all is well, from what ran since yesterday and how the schedules do. */
import type { Job, Pipeline, PipelineScheduleItem } from "@millrace/contract";

export interface Facts {
  /** The newest pipelines, newest first. */
  readonly pipelines: readonly Pipeline[];
  /** Jobs that failed since yesterday. */
  readonly failedJobs: readonly Job[];
  readonly schedules: readonly PipelineScheduleItem[];
}

export interface Verdict {
  readonly tone: "good" | "bad" | "warn";
  readonly text: string;
}

/** The beginning of yesterday, in the time zone of the browser. */
export function yesterday(now: number): Date {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - 1);
}

/** Something that failed since yesterday. */
export interface Failure {
  readonly kind: "job" | "pipeline";
  readonly id: string;
  readonly name: string;
  readonly reason: string | null;
  readonly at: string;
  /** True if a later run of the same schedule completed. */
  readonly isMended: boolean;
}

/** Returns what failed since the moment, newest first: pipelines, and jobs that belong to none. */
export function failuresOf({ pipelines, failedJobs }: Facts, since: Date): Failure[] {
  const after = since.toISOString();
  const failed = pipelines.filter(({ status, finished_at }) => status === "FAILED" && (finished_at ?? "") >= after);
  return [
    ...failed.map(
      (pipeline): Failure => ({
        kind: "pipeline",
        id: pipeline.pipeline_id,
        name: pipeline.name,
        reason: pipeline.error_message,
        at: pipeline.finished_at ?? pipeline.created_at,
        isMended: newestOf(pipelines, pipeline.schedule_name)?.status === "COMPLETED",
      }),
    ),
    ...failedJobs
      .filter(({ pipeline_id }) => pipeline_id === null)
      .map(
        (job): Failure => ({
          kind: "job",
          id: job.id,
          name: job.name ?? job.id,
          reason: job.error_message,
          at: job.finished_at ?? job.created_at,
          isMended: false,
        }),
      ),
  ].sort((a, b) => b.at.localeCompare(a.at));
}

/** The newest ended run of a schedule. */
function newestOf(pipelines: readonly Pipeline[], schedule: string | null): Pipeline | undefined {
  if (schedule === null) return undefined;
  return pipelines.find(
    ({ schedule_name, status }) => schedule_name === schedule && ["COMPLETED", "FAILED"].includes(status),
  );
}

export function verdictOf(facts: Facts, since: Date): Verdict {
  const failures = failuresOf(facts, since).filter(({ isMended }) => !isMended);
  const count = (kind: Failure["kind"]) => failures.filter((failure) => failure.kind === kind).length;
  const troubles = [
    ...named(facts.schedules, "overdue", "overdue"),
    ...named(facts.schedules, "failing", "failing"),
    ...failed([...some(count("pipeline"), "pipeline"), ...some(count("job"), "job")]),
    ...named(facts.schedules, "skipping", "skipping runs"),
  ];
  if (troubles.length > 0) {
    const isOnlySkips = facts.schedules.every(({ health }) => health !== "overdue" && health !== "failing");
    return { tone: isOnlySkips && failures.length === 0 ? "warn" : "bad", text: `${sentence(troubles)}.` };
  }
  const done = facts.pipelines.filter(
    ({ status, finished_at }) => status === "COMPLETED" && (finished_at ?? "") >= since.toISOString(),
  ).length;
  const ran =
    done > 0
      ? `${done === 1 ? "1 pipeline" : `${done} pipelines`} completed since yesterday, and nothing failed`
      : "nothing failed since yesterday";
  return { tone: "good", text: `All is well: ${ran}.` };
}

const some = (count: number, noun: string) => (count > 0 ? [`${count} ${count === 1 ? noun : `${noun}s`}`] : []);

const failed = (things: readonly string[]) =>
  things.length > 0 ? [`${things.join(" and ")} failed since yesterday`] : [];

/** One schedule is named; several are counted. */
function named(schedules: readonly PipelineScheduleItem[], health: string, word: string): string[] {
  const all = schedules.filter((schedule) => schedule.health === health);
  if (all.length === 0) return [];
  return [
    all.length === 1 ? `the schedule ${all[0]?.schedule_name} is ${word}` : `${all.length} schedules are ${word}`,
  ];
}

function sentence(parts: readonly string[]): string {
  const text = parts.join("; ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
