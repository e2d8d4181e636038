/** What an action did to each of the selected jobs. */
import { Link } from "wouter";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import { StatusShape } from "../look/status.tsx";
import { jobPath } from "../paths/job-paths.ts";
import type { Outcome, Report } from "./use-bulk.ts";

const tones = { done: "good", failed: "bad", skipped: "off" } as const;
const words = { done: "Done", failed: "Failed", skipped: "Skipped" } as const;

export function BulkReport({ report, onClose }: { report: Report; onClose: () => void }) {
  const { action, outcomes, total } = report;
  const done = outcomes.filter(({ state }) => state === "done").length;
  const title = action === "cancel" ? `Canceled ${done} of ${total}` : `Started ${done} of ${total} again`;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="bulk-report stack">
        <ul>
          {outcomes.map((outcome) => (
            <Line key={outcome.job.id} outcome={outcome} />
          ))}
        </ul>
        <div className="foot row">
          <Button autoFocus onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

const Line = ({ outcome: { job, state, message, created } }: { outcome: Outcome }) => (
  <li>
    <StatusShape tone={tones[state]} />
    <span>
      <b>{job.name ?? job.id}</b>
      <span className="hidden-text">{` ${words[state]}: `}</span>
      <br />
      <span className="soft">{message}</span> {created && <Link href={jobPath(created.team, created.id)}>Open it</Link>}
    </span>
  </li>
);
