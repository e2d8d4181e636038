/** When a pipeline ran. */
import type { Pipeline } from "@millrace/contract";

/** The first start of a job, because a pipeline may wait for its review for days; null if none has started. */
export const startOf = ({ job_runs }: Pipeline): string | null =>
  job_runs.reduce<string | null>(
    (least, { started_at }) => (started_at !== null && (least === null || started_at < least) ? started_at : least),
    null,
  );
