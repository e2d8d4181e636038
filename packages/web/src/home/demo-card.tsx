/** Makes and removes the demo. */
import { type Client, routes } from "@millrace/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { clientOf } from "../api/client.ts";
import { useRefusal } from "../api/session.tsx";
import { teamPath, useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { demoProject, demoSchedule, demoTag, isDemoDataset, makeDemo, removeDemo } from "./demo.ts";

/**
 * Whether the team has the demo, or a part of it that still does something; undefined until it is known. A part may be
 * left if one person removed the demo while another made it.
 */
export function useHasDemo(): boolean | undefined {
  const datasets = useApi(routes.listDatasets, { query: { prefix: `${demoProject}.` } });
  const schedules = useApi(routes.listSchedules, { query: {} });
  const active = useApi(routes.listJobs, { query: { tag: [demoTag], status: ["ACTIVE"], limit: 1 } });
  if (!(datasets.data && schedules.data && active.data)) return undefined;
  return (
    datasets.data.some(isDemoDataset) ||
    schedules.data.some(({ schedule_name }) => schedule_name === demoSchedule) ||
    active.data.some(({ status }) => status !== "CANCELING")
  );
}

/** Takes several steps through the API, and reads everything again at the end. */
function useSteps(steps: (client: Client) => Promise<void>, onDone?: () => void) {
  const client = clientOf(useTeam());
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => steps(client),
    onSuccess: () => onDone?.(),
    onSettled: () => cache.invalidateQueries(),
  });
}

/** Offers the demo to a team that has nothing yet. */
export function OfferDemo() {
  const refusal = useRefusal("editor");
  const make = useSteps(makeDemo);
  return (
    <section className="card stack tight">
      <h2>With a demo</h2>
      <p className="soft">
        Three jobs that build on each other, one that runs, one that fails and says why, and a paused schedule. Shell
        scripts only. One click removes it again.
      </p>
      <p>
        <Button icon="plus" refusal={refusal} busy={make.isPending} onClick={() => make.mutate()}>
          Make the demo
        </Button>
      </p>
      <Problem error={make.error} />
    </section>
  );
}

/** Says that the team has the demo, and removes it. */
export function DemoNote() {
  const team = useTeam();
  const refusal = useRefusal("editor");
  const [isAsking, setAsking] = useState(false);
  const remove = useSteps(removeDemo, () => setAsking(false));
  return (
    <section className="demo-note card row wrap apart" aria-label="Demo">
      <span>
        <b>Demo.</b> This team has the demo: jobs with the tag {demoTag}, the{" "}
        <Link href={teamPath(team, "/datasets")}>datasets in {demoProject}</Link>, and a paused schedule.
      </span>
      <Button icon="cross" refusal={refusal} onClick={() => setAsking(true)}>
        Remove the demo
      </Button>
      {isAsking && (
        <AskFirst
          title="Remove the demo?"
          action="Remove the demo"
          busy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>
            Its schedule and datasets are removed, and what runs is canceled. Its ended jobs stay in the list of jobs,
            as all jobs do, with the tag {demoTag}. Nothing else changes.
          </p>
        </AskFirst>
      )}
    </section>
  );
}
