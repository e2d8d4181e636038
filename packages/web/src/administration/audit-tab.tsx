/** The audit log: who changed what, when and from where. The filters are in the URL. */
import { type AuditEntry, routes } from "@millrace/contract";
import { useState } from "react";
import { useApi } from "../api/calls.ts";
import { useUrlChange, useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { TextField } from "../look/field.tsx";
import { Empty, Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";

const size = 50;

export function AuditTab() {
  const [team] = useUrlState("team");
  const [user] = useUrlState("user");
  const [action] = useUrlState("action");
  const [before] = useUrlState("before");
  const change = useUrlChange();
  const query = {
    limit: size,
    ...(team ? { team_name: team } : {}),
    ...(user ? { username: user } : {}),
    ...(action ? { action } : {}),
    ...(/^\d+$/.test(before) ? { cursor: Number(before) } : {}),
  };
  const entries = useApi(routes.listAudit, { query });
  return (
    <>
      <Filters key={`${team} ${user} ${action}`} values={{ team, user, action }} />
      <Read from={entries}>
        {(list) =>
          list.length > 0 ? (
            <>
              <Table label="Audit" columns={columns} items={list} keyOf={({ id }) => id} />
              <div className="row">
                {before !== "" && <Button onClick={() => change({ before: "" })}>Newest</Button>}
                {list.length === size && (
                  <Button onClick={() => change({ before: String(list.at(-1)?.id ?? "") })}>Older</Button>
                )}
              </div>
            </>
          ) : (
            <Empty title="No entries match">
              <p>
                <Button onClick={() => change({ team: "", user: "", action: "", before: "" })}>
                  Remove the filters
                </Button>
              </p>
            </Empty>
          )
        }
      </Read>
    </>
  );
}

interface Values {
  readonly team: string;
  readonly user: string;
  readonly action: string;
}

function Filters({ values }: { values: Values }) {
  const [typed, setTyped] = useState(values);
  const change = useUrlChange();
  return (
    <form
      className="row wrap audit-filters"
      onSubmit={(event) => {
        event.preventDefault();
        change({ ...typed, before: "" });
      }}
    >
      <TextField label="Team" value={typed.team} onText={(team) => setTyped({ ...typed, team })} maxLength={64} />
      <TextField label="User" value={typed.user} onText={(user) => setTyped({ ...typed, user })} maxLength={255} />
      <TextField
        label="Action"
        value={typed.action}
        onText={(action) => setTyped({ ...typed, action })}
        placeholder="user or user.create"
        pattern="[a-z.\-]+"
      />
      <Button type="submit">Filter</Button>
    </form>
  );
}

const columns: readonly Column<AuditEntry>[] = [
  { title: "When", cell: ({ at }) => <Time at={at} /> },
  { title: "User", cell: ({ username }) => username || <span className="soft">on the machine</span> },
  { title: "Action", cell: ({ action }) => <span className="mono">{action}</span> },
  { title: "Team", optional: true, cell: ({ team_name }) => team_name ?? "" },
  {
    title: "What",
    wide: true,
    cell: ({ target, detail }) => (
      <span className="wrapped">
        {target} <span className="soft">{detail}</span>
      </span>
    ),
  },
  { title: "With", optional: true, cell: ({ via }) => via },
  { title: "From", optional: true, cell: ({ address }) => <span className="mono">{address}</span> },
];
