/** A job at a glance: who, when, where, and what it belongs to. */
import { isIn, type Job, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
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
        {isIn("final", job.status) ? "Took " : "Running for "}
        <Took from={job.started_at} to={job.finished_at} />
      </span>
    )}
    {job.compute_cluster_name !== null && <span>on the cluster {job.compute_cluster_name}</span>}
    {job.exit_code !== null && <span>Exit code {job.exit_code}</span>}
    {job.pipeline_id !== null && <PartOf team={job.team} pipeline_id={job.pipeline_id} />}
    {job.parent_job_id !== null && <Related id={job.parent_job_id} words="Started by" job={job} />}
    {job.rerun_from_job_id !== null && <Related id={job.rerun_from_job_id} words="Rerun of" job={job} />}
    {job.tags.map((tag) => (
      <span key={tag} className="mono">{`#${tag}`}</span>
    ))}
  </div>
);

function PartOf({ team, pipeline_id }: { team: string; pipeline_id: string }) {
  const { data } = useApi(routes.getPipeline, { query: { pipeline_id } });
  const path = pipelineOfJob(team, pipeline_id);
  if (data?.pipeline_id !== pipeline_id) return <Link href={path}>Part of a pipeline</Link>;
  return (
    <span>
      Part of the pipeline <Link href={path}>{data.name}</Link>
    </span>
  );
}

/** A link to another job. One of the same name, as a rerun has, is named by its id. */
function Related({ id, words, job }: { id: string; words: string; job: Job }) {
  const name = useApi(routes.listJobs, { query: { job_id: id } }).data?.[0]?.name;
  const shown = name == null || name === job.name ? id.slice(0, 8) : name;
  return (
    <span>
      {words} <Link href={jobPath(job.team, id)}>{shown}</Link>
    </span>
  );
}
