/** Why a job waits: its place in the queue, what holds the slots, and what else keeps it from starting. */
import { isIn, type Job, type JobWait, routes, waitLimits } from "@millrace/contract";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import { Read } from "../look/states.tsx";
import { Time } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import "./why-queued.css";

type Waiting = Pick<Job, "id" | "name" | "status">;

/** Tells whether there is something to explain. */
export const waits = ({ status }: Pick<Job, "status">) => isIn("waiting", status) || isIn("draft", status);

/** Says why the job waits, as a panel. Shows nothing for a job that does not wait. */
export function WhyQueued({ job }: { job: Waiting }) {
  const wait = useApi(routes.getJobWait, { params: { job_id: job.id }, query: {} }, { enabled: waits(job) });
  if (!waits(job)) return null;
  return (
    <section className="why-queued card stack tight" aria-label="Why it waits">
      <Read from={wait}>{(found) => <Reasons wait={found} />}</Read>
    </section>
  );
}

/** A button that says why the job waits, in a dialog. */
export function WhyButton({ job }: { job: Waiting }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="why-button" onClick={() => setOpen(true)}>
        Why?<span className="hidden-text">{` Why does ${job.name ?? job.id} wait`}</span>
      </button>
      {open && (
        <Dialog title={`Why ${job.name ?? "the job"} waits`} onClose={() => setOpen(false)}>
          <Answer id={job.id} />
          <div className="foot row">
            <Button autoFocus onClick={() => setOpen(false)}>
              Close
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The answer is read anew each time, because the queue moves. */
function Answer({ id }: { id: string }) {
  const wait = useApi(routes.getJobWait, { params: { job_id: id }, query: {} }, { staleTime: 0 });
  return (
    <div className="why-queued stack">
      <Read from={wait}>{(found) => <Reasons wait={found} />}</Read>
    </div>
  );
}

function Reasons({ wait }: { wait: JobWait }) {
  const { reasons, until } = wait;
  return (
    <>
      {reasons.length === 0 && <p>It does not wait any more, or starts within a moment.</p>}
      <ul className="reasons stack tight">
        {reasons.map(({ kind, message }) => (
          <li key={kind}>{message}</li>
        ))}
      </ul>
      {until !== null && (
        <p>
          Earliest start: <Time at={until} />
        </p>
      )}
      <Queue wait={wait} />
    </>
  );
}

function Queue({ wait }: { wait: JobWait }) {
  const { position, cluster, slots_busy, slots_total, slots_needed } = wait;
  return (
    <>
      <dl className="facts">
        {position !== null && (
          <>
            <dt>Place in the queue</dt>
            <dd>{position > waitLimits.ahead ? `after ${waitLimits.ahead} or more jobs` : position}</dd>
          </>
        )}
        <dt>Cluster</dt>
        <dd>
          {cluster}: {slots_busy} of {slots_total} slots in use, the job needs {slots_needed}
        </dd>
      </dl>
      {slots_busy > 0 && <Holders wait={wait} />}
    </>
  );
}

function Holders({ wait: { holders, slots_of_others } }: { wait: JobWait }) {
  const team = useTeam();
  return (
    <>
      <h3>What holds the slots</h3>
      <ul className="holders">
        {holders.map(({ job_id, name, created_by, started_at, slots }) => (
          <li key={job_id}>
            <Link href={jobPath(team, job_id)}>{name ?? job_id}</Link>
            <span className="soft">
              {` ${slotText(slots)}, ${created_by}, started `}
              <Time at={started_at} />
            </span>
          </li>
        ))}
        {slots_of_others > 0 && <li>Other teams: {slotText(slots_of_others)}</li>}
      </ul>
    </>
  );
}

const slotText = (slots: number) => `${slots} ${slots === 1 ? "slot" : "slots"}`;
