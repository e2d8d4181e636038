/** The phases of a job: how long it waited, prepared and ran. */
import type { Job } from "@millrace/contract";

export interface Phase {
  readonly name: string;
  readonly label: string;
  readonly from: number;
  /** Undefined while the phase goes on. */
  readonly to: number | undefined;
}

const moment = (text: string | null | undefined) => (text == null ? undefined : Date.parse(text));

/** A gap that is shorter than this many milliseconds is no phase of its own. */
const noticed = 50;

type PhasedJob = Pick<Job, "created_at" | "started_at" | "finished_at" | "steps" | "query_type" | "retried">;

/**
 * Returns the phases in order: the queue, then the steps of the newest attempt. The time before the first step and
 * after the last one has its own phases, so that all of them together are the whole time of the job.
 */
export function phasesOf(job: PhasedJob): Phase[] {
  const ended = moment(job.finished_at);
  const steps = (job.steps ?? []).map(({ name, label, started_at, finished_at }) => ({
    name,
    label: name === "query" && job.query_type === "SHELL" ? "Run the script" : label,
    from: Date.parse(started_at),
    to: moment(finished_at) ?? ended,
  }));
  const began = moment(job.started_at) ?? steps[0]?.from;
  const queue = {
    name: "queue",
    label: job.retried > 0 ? "Queue and earlier attempts" : "Queue",
    from: Date.parse(job.created_at),
    to: began ?? ended,
  };
  const before = gap("start", "Start", began, steps[0]?.from ?? ended);
  const after = gap("finish", "Finish", steps.at(-1)?.to, ended);
  return [queue, ...before, ...steps, ...after];
}

const gap = (name: string, label: string, from: number | undefined, to: number | undefined): Phase[] =>
  from !== undefined && (to === undefined || to - from > noticed) ? [{ name, label, from, to }] : [];

/** Widths of the phases in percent. A short phase stays visible. */
export function widthsOf(phases: readonly Phase[], now: number): number[] {
  const took = phases.map(({ from, to }) => Math.max(0, (to ?? now) - from));
  const all = took.reduce((sum, one) => sum + one, 0) || 1;
  const raised = took.map((one) => Math.max(one / all, 0.02));
  const sum = raised.reduce((total, one) => total + one, 0);
  return raised.map((one) => (100 * one) / sum);
}
