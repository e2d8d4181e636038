/** Says what to do with a pipeline that waits for its review, and why a pipeline failed as a whole. */
import type { Pipeline } from "@millrace/contract";
import { Icon } from "../look/icon.tsx";
import { Problem } from "../look/states.tsx";
import { isDraft } from "./pipeline-drafts.ts";

export function ReviewNotice({ pipeline }: { pipeline: Pipeline }) {
  if (isDraft(pipeline))
    return (
      <p className="review-notice row">
        <Icon name="pause" />
        <span>
          {`Nothing runs yet. Review the ${pipeline.total === 1 ? "job" : `${pipeline.total.toLocaleString("en")} jobs`}: select those that you want to remove, change the settings, then start the pipeline.`}
        </span>
      </p>
    );
  if (pipeline.is_template)
    return (
      <p className="review-notice row">
        <Icon name="schedules" />
        <span>
          This is the template from which a schedule or backfill creates its pipelines. It never runs itself; its
          settings apply to every later pipeline.
        </span>
      </p>
    );
  // A failed job has its own panel; here is only what no job says, such as a start that was refused.
  const isOfJob = pipeline.job_runs.some(({ status }) => status === "FAILED");
  return pipeline.error_message !== null && !isOfJob ? <Problem error={pipeline.error_message} /> : null;
}
