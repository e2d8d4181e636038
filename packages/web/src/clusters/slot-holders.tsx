/** Which jobs of the team hold the slots of a cluster, and how many slots other teams use. */
import { type Cluster, type Job, jobStates, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { countOf } from "../look/amount.ts";
import { Time } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { slotsOfOthers } from "./slots-of-others.ts";

const status = [...jobStates.begun, ...jobStates.canceling];
/** Jobs that are listed; the others are behind the link to those that run. */
const most = 5;
/** Jobs that are counted. A cluster that runs more of one team says nothing of the other teams. */
const counted = 100;

export function SlotHolders({ cluster }: { cluster: Cluster }) {
  const { name, busy_workers: busy } = cluster;
  const query = { cluster: name, status, limit: counted };
  const { data } = useApi(routes.listJobs, { query }, { enabled: busy > 0 });
  if (!data || busy === 0) return null;
  const jobs = data.filter(({ started_at }) => started_at !== null).reverse();
  const others = jobs.length < counted ? slotsOfOthers(busy, jobs) : 0;
  if (jobs.length === 0 && others === 0) return null;
  return (
    <div className="stack tight">
      <h3>What holds the slots</h3>
      <ul className="slot-holders">
        {jobs.slice(0, most).map((job) => (
          <Holder key={job.id} job={job} />
        ))}
        {jobs.length > most && <li className="soft">{`and ${countOf(jobs.length - most, "more job")}`}</li>}
        {others > 0 && <li>{`Other teams: ${countOf(others, "slot")}`}</li>}
      </ul>
    </div>
  );
}

const Holder = ({ job: { id, team, name, workers, created_by, started_at } }: { job: Job }) => (
  <li>
    <Link href={jobPath(team, id)}>{name ?? id}</Link>
    <span className="soft">
      {` ${countOf(workers, "slot")}, ${created_by}, started `}
      <Time at={started_at} />
    </span>
  </li>
);
