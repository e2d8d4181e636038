/** A job at a glance: who, when, where, and what it belongs to. */
import type { Job } from "@millrace/contract";
import { Link } from "wouter";
import { CopyButton } from "../look/copy-button.tsx";
import { Time, Took } from "../look/time.tsx";
import { jobPath, pipelineOfJob } from "../paths/job-paths.ts";

export const JobSummary = ({ job }: { job: Job }) => (
  <div className="job-summary row wrap small">
    <span className="row">
      <span className="mono" title={job.id}>
        {job.id.slice(0, 8)}
      </span>
      <CopyButton text={job.id} label="Copy the id" />
    </span>
    <span>
      Created <Time at={job.created_at} /> by {job.created_by}
    </span>
    {job.started_at !== null && (
      <span>
        Took <Took from={job.started_at} to={job.finished_at} />
      </span>
    )}
    {job.compute_cluster_name !== null && <span>on {job.compute_cluster_name}</span>}
    {job.exit_code !== null && <span>Exit code {job.exit_code}</span>}
    {job.pipeline_id !== null && <Link href={pipelineOfJob(job.team, job.pipeline_id)}>Pipeline</Link>}
    {job.parent_job_id !== null && <Link href={jobPath(job.team, job.parent_job_id)}>Started by a job</Link>}
    {job.rerun_from_job_id !== null && <Link href={jobPath(job.team, job.rerun_from_job_id)}>Rerun of a job</Link>}
    {job.tags.map((tag) => (
      <span key={tag} className="mono">{`#${tag}`}</span>
    ))}
  </div>
);
