/** Invitations: links with which a person joins the team. Each works once. */
import { type Invitation, type Role, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { useManageRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { ShownOnce } from "../look/shown-once.tsx";
import { Empty, Problem, Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { ExpiryField } from "./expiry-field.tsx";
import { NotAllowed } from "./not-allowed.tsx";
import { RoleChoice } from "./role-choice.tsx";

export function InvitationsTab() {
  const refusal = useManageRefusal();
  if (refusal !== undefined) return <NotAllowed what="the invitations of the team" why={refusal} />;
  return (
    <>
      <OpenInvitations />
      <section className="card stack">
        <h2>Invite somebody</h2>
        <NewInvitation />
      </section>
    </>
  );
}

function OpenInvitations() {
  const team_name = useTeam();
  const open = useApi(routes.listInvitations, { params: { team_name } });
  const revoke = useAction(routes.revokeInvitation);
  const columns: readonly Column<Invitation>[] = [
    {
      title: "For",
      wide: true,
      cell: ({ email }) => (
        <span className="wrapped">{email || <span className="soft">whoever has the link</span>}</span>
      ),
    },
    { title: "Role", cell: ({ role }) => role },
    { title: "By", optional: true, cell: ({ created_by }) => created_by },
    { title: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: "Actions",
      cell: ({ id }) => (
        <Button onClick={() => revoke.mutate({ params: { team_name, invitation_id: String(id) } })}>Revoke</Button>
      ),
    },
  ];
  return (
    <>
      <Problem error={revoke.error} />
      <Read from={open}>
        {(list) =>
          list.length > 0 ? (
            <section className="stack tight">
              <h2>Open invitations</h2>
              <Table label="Open invitations" columns={columns} items={list} keyOf={({ id }) => id} />
            </section>
          ) : (
            <Empty title="No open invitations">
              <p>Create a link below and send it to the person.</p>
            </Empty>
          )
        }
      </Read>
    </>
  );
}

function NewInvitation() {
  const team_name = useTeam();
  const create = useAction(routes.createInvitation);
  const [role, setRole] = useState<Role>("editor");
  const [email, setEmail] = useState("");
  const [days, setDays] = useState("7");
  const submit = () =>
    create.mutate(
      { params: { team_name }, body: { role, email: email.trim(), expires_in_days: Number(days) } },
      { onSuccess: () => setEmail("") },
    );
  return (
    <>
      {create.data && (
        <ShownOnce what="Created an invitation." text={create.data.url} next="Whoever has the link can join, once." />
      )}
      <Form action="Create a link" onSubmit={submit} busy={create.isPending} error={create.error}>
        <div className="settings-columns">
          <RoleChoice value={role} onChange={setRole} />
          <TextField
            label="E-mail"
            name="email"
            type="email"
            value={email}
            onText={setEmail}
            maxLength={254}
            hint="A note for this list. Millrace sends nothing."
          />
          <ExpiryField days={days} onDays={setDays} required />
        </div>
      </Form>
    </>
  );
}
