/** Credentials: named sets of variables for jobs, of the team and your own. Secret values are never shown. */
import { type Credentials, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Empty, Problem, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { CredentialsForm, type Editing } from "./credentials-form.tsx";
import { NotAllowed } from "./not-allowed.tsx";

export function CredentialsTab() {
  const refusal = useRefusal("editor");
  if (refusal !== undefined) return <NotAllowed what="the credentials" why={refusal} />;
  return <CredentialsOfJobs />;
}

function CredentialsOfJobs() {
  const found = useApi(routes.listCredentials, { query: {} });
  const setDefault = useAction(routes.setDefaultCredentials);
  const [editing, setEditing] = useState<Editing>();
  const [deleting, setDeleting] = useState<Credentials>();
  const admin = useRefusal("admin");
  const actions = {
    admin,
    edit: setEditing,
    remove: setDeleting,
    setDefault: (name: string | null) => setDefault.mutate({ body: { name } }),
  };
  return (
    <>
      <div className="row wrap">
        <Button kind="main" icon="plus" refusal={admin} onClick={() => setEditing({ owner: "team" })}>
          New credentials of the team
        </Button>
        <Button icon="plus" onClick={() => setEditing({ owner: "user" })}>
          New personal credentials
        </Button>
      </div>
      <Problem error={setDefault.error} />
      <Read from={found}>
        {(list) =>
          list.length > 0 ? (
            <Table label="Credentials" columns={columns(actions)} items={list} keyOf={(one) => one.owner + one.name} />
          ) : (
            <Empty title="No credentials yet">
              <p>
                Credentials give jobs the variables that they need, such as the keys of a bucket. Jobs name a set with{" "}
                <code>--credentials NAME</code>, or get the default of the team.
              </p>
            </Empty>
          )
        }
      </Read>
      {editing && <CredentialsForm editing={editing} onClose={() => setEditing(undefined)} />}
      {deleting && <DeleteCredentials credentials={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  );
}

interface Actions {
  /** Why the user may not change credentials of the team. */
  readonly admin: string | undefined;
  readonly edit: (editing: Editing) => void;
  readonly remove: (credentials: Credentials) => void;
  readonly setDefault: (name: string | null) => void;
}

const columns = ({ admin, edit, remove, setDefault }: Actions): readonly Column<Credentials>[] => [
  { title: "Name", cell: ({ name }) => name },
  { title: "Owner", optional: true, cell: ({ owner }) => (owner === "team" ? "the team" : "you") },
  {
    title: "Variables",
    wide: true,
    optional: true,
    cell: ({ variables, plain }) => (
      <span className="mono">
        {variables.map((name) => (name in plain ? `${name}=${plain[name]}` : name)).join(", ")}
      </span>
    ),
  },
  { title: "Changed", optional: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
  {
    title: "Default",
    cell: (one) =>
      one.owner === "team" && (
        <span className="row">
          {one.default && <Status status="COMPLETE" word="Default" />}
          <Button
            refusal={admin}
            aria-label={one.default ? `No longer default: ${one.name}` : `Make default: ${one.name}`}
            onClick={() => setDefault(one.default ? null : one.name)}
          >
            {one.default ? "Unset" : "Make default"}
          </Button>
        </span>
      ),
  },
  {
    title: "Actions",
    cell: (one) => {
      const refusal = one.owner === "team" ? admin : undefined;
      return (
        <span className="row">
          <Button refusal={refusal} aria-label={`Replace ${one.name}`} onClick={() => edit(one)}>
            Replace
          </Button>
          <Button
            kind="bare"
            icon="bin"
            refusal={refusal}
            aria-label={`Delete ${one.name}`}
            onClick={() => remove(one)}
          />
        </span>
      );
    },
  },
];

function DeleteCredentials({ credentials, onClose }: { credentials: Credentials; onClose: () => void }) {
  const ofTeam = useAction(routes.deleteTeamCredentials);
  const own = useAction(routes.deleteOwnCredentials);
  const remove = credentials.owner === "team" ? ofTeam : own;
  return (
    <AskFirst
      title={`Delete the credentials ${credentials.name}?`}
      action="Delete"
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ body: { name: credentials.name } }, { onSuccess: onClose })}
    >
      <p>Their values cannot be brought back. Jobs that use them and have not started will fail.</p>
    </AskFirst>
  );
}
