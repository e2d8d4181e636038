/** The name of a job in a list, with what tells it from others: its tags, its pipeline, why it failed. */
import type { Job } from "@millrace/contract";
import { Link } from "wouter";
import { Icon } from "../look/icon.tsx";
import { reasonLine } from "../look/reason.ts";
import { jobPath, pipelineOfJob } from "../paths/job-paths.ts";
import "./job-name.css";

export const JobName = ({ job }: { job: Job }) => (
  <>
    <Link href={jobPath(job.team, job.id)} className="job-name">
      {job.name ?? job.id}
    </Link>
    {job.pipeline_id !== null && (
      <Link
        href={pipelineOfJob(job.team, job.pipeline_id)}
        className="job-pipeline"
        title="Part of a pipeline"
        aria-label={`The pipeline of ${job.name ?? job.id}`}
      >
        <Icon name="pipelines" />
      </Link>
    )}
    {job.tags.map((tag) => (
      <span key={tag} className="job-more mono">{`#${tag}`}</span>
    ))}
    {job.status === "FAILED" && job.error_message !== null && (
      <span className="job-more" title={job.error_message}>
        {reasonLine(job.error_message)}
      </span>
    )}
  </>
);
