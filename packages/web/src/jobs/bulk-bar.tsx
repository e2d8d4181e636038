/** Cancels or reruns the selected jobs, and reports what happened to each. */
import { allows, type Job } from "@millrace/contract";
import { useState } from "react";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { BulkReport } from "./bulk-report.tsx";
import "./bulk-bar.css";
import { type BulkAction, useBulk } from "./use-bulk.ts";

const verbs = { cancel: "Cancel", rerun: "Rerun" } as const;

export function BulkBar({ jobs, onDone }: { jobs: readonly Job[]; onDone: () => void }) {
  const role = useRefusal("editor");
  const bulk = useBulk();
  const [asked, setAsked] = useState<BulkAction>();
  const run = (action: BulkAction) => {
    setAsked(undefined);
    void bulk.run(action, jobs).then(onDone);
  };
  const refusal = (action: BulkAction) =>
    role ?? (jobs.some(({ status }) => allows(action, status)) ? undefined : nothingTo[action]);
  return (
    <>
      {jobs.length > 0 && (
        <section className="bulk-bar row wrap" aria-label="Selected jobs">
          <b>{jobs.length} selected</b>
          <Button icon="again" busy={bulk.busy} refusal={refusal("rerun")} onClick={() => run("rerun")}>
            Rerun
          </Button>
          <Button
            icon="stop"
            kind="danger"
            busy={bulk.busy}
            refusal={refusal("cancel")}
            onClick={() => setAsked("cancel")}
          >
            Cancel
          </Button>
          <Button kind="bare" icon="cross" onClick={onDone}>
            Clear selection
          </Button>
        </section>
      )}
      {asked && (
        <AskFirst
          title={`${verbs[asked]} ${counted(jobs)}?`}
          action={`${verbs[asked]} ${counted(jobs.filter(({ status }) => allows(asked, status)))}`}
          busy={bulk.busy}
          error={undefined}
          onConfirm={() => run(asked)}
          onClose={() => setAsked(undefined)}
        >
          <CancelQuestion jobs={jobs} />
        </AskFirst>
      )}
      {bulk.report && <BulkReport report={bulk.report} onClose={bulk.forget} />}
    </>
  );
}

const nothingTo = {
  cancel: "None of the selected jobs waits or runs, so there is nothing to cancel",
  rerun: "The selected jobs are drafts of a pipeline: the pipeline runs them",
} as const;

const counted = (jobs: readonly Job[]) => (jobs.length === 1 ? "1 job" : `${jobs.length} jobs`);

function CancelQuestion({ jobs }: { jobs: readonly Job[] }) {
  const ended = jobs.filter(({ status }) => !allows("cancel", status)).length;
  return (
    <>
      <p>Waiting jobs leave the queue. Running ones are stopped, and what they have not saved is lost.</p>
      {ended > 0 && (
        <p>{ended === 1 ? "One of them has" : `${ended} of them have`} already ended and stays as it is.</p>
      )}
    </>
  );
}
