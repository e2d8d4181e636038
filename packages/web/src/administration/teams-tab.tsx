/** The teams of the server, their quotas and what they use. */
import { routes, type Team } from "@millrace/contract";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import { Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { settingsPath } from "../paths/settings-paths.ts";
import { UsageBars } from "../settings/usage-bars.tsx";
import { NewTeam, QuotaForm } from "./team-forms.tsx";

interface Open {
  readonly what: "quotas" | "usage";
  readonly team: Team;
}

export function TeamsTab() {
  const teams = useApi(routes.listTeams, {});
  const [open, setOpen] = useState<Open | "new">();
  const close = () => setOpen(undefined);
  return (
    <>
      <div className="row">
        <Button kind="main" icon="plus" onClick={() => setOpen("new")}>
          New team
        </Button>
      </div>
      <Read from={teams}>
        {(list) => <Table label="Teams" columns={columns(setOpen)} items={list} keyOf={({ name }) => name} />}
      </Read>
      {open === "new" && <NewTeam onClose={close} />}
      {typeof open === "object" && open.what === "quotas" && <QuotaForm team={open.team} onClose={close} />}
      {typeof open === "object" && open.what === "usage" && <Usage team={open.team} onClose={close} />}
    </>
  );
}

const columns = (open: (what: Open) => void): readonly Column<Team>[] => [
  { title: "Team", wide: true, cell: ({ name }) => <Link href={settingsPath(name, "team")}>{name}</Link> },
  { title: "Members", number: true, cell: ({ members }) => members },
  { title: "Running at most", number: true, optional: true, cell: ({ max_running }) => max_running ?? "default" },
  { title: "Waiting at most", number: true, optional: true, cell: ({ max_queued }) => max_queued ?? "default" },
  { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: "Actions",
    cell: (team) => (
      <span className="row">
        <Button aria-label={`Usage of ${team.name}`} onClick={() => open({ what: "usage", team })}>
          Usage
        </Button>
        <Button aria-label={`Quotas of ${team.name}`} onClick={() => open({ what: "quotas", team })}>
          Quotas
        </Button>
      </span>
    ),
  },
];

function Usage({ team: { name }, onClose }: { team: Team; onClose: () => void }) {
  const usage = useApi(routes.getTeamUsage, { params: { team_name: name } });
  return (
    <Dialog title={`What ${name} uses`} onClose={onClose}>
      <div className="stack">
        <Read from={usage}>{(found) => <UsageBars usage={found} />}</Read>
      </div>
    </Dialog>
  );
}
