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

/** Returns the phases in order: the queue, then the steps of the newest attempt. */
export function phasesOf(job: Pick<Job, "created_at" | "started_at" | "finished_at" | "steps">): Phase[] {
  const steps = (job.steps ?? []).map(({ name, label, started_at, finished_at }) => ({
    name,
    label,
    from: Date.parse(started_at),
    to: moment(finished_at) ?? moment(job.finished_at),
  }));
  const began = moment(job.started_at) ?? steps[0]?.from;
  const queue = {
    name: "queue",
    label: "Queue",
    from: Date.parse(job.created_at),
    to: began ?? moment(job.finished_at),
  };
  return [queue, ...steps];
}

/** Widths of the phases in percent. A short phase stays visible. */
export function widthsOf(phases: readonly Phase[], now: number): number[] {
  const took = phases.map(({ from, to }) => Math.max(0, (to ?? now) - from));
  const all = took.reduce((sum, one) => sum + one, 0) || 1;
  const raised = took.map((one) => Math.max(one / all, 0.02));
  const sum = raised.reduce((total, one) => total + one, 0);
  return raised.map((one) => (100 * one) / sum);
}
