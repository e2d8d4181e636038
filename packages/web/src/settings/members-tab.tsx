/** The members of the team and their roles. */
import { type Member, type Role, roles, routes } from "@millrace/contract";
import { useState } from "react";
import { Link } from "wouter";
import { useAction, useApi } from "../api/calls.ts";
import { useManageRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { Problem, Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { settingsPath } from "../paths/settings-paths.ts";
import { RemoveMember } from "./remove-member.tsx";
import { RoleChoice } from "./role-choice.tsx";

export function MembersTab() {
  const team = useTeam();
  const members = useApi(routes.listMembers, { params: { team_name: team } });
  const change = useAction(routes.updateMember);
  const [leaving, setLeaving] = useState<Member>();
  const refusal = useManageRefusal("add, change or remove members");
  const setRole = (username: string, role: Role) =>
    change.mutate({ params: { team_name: team, username }, body: { role } });
  return (
    <>
      <Problem error={change.error} />
      <Read from={members}>
        {(list) => (
          <Table
            label="Members"
            columns={columns({ refusal, setRole, remove: setLeaving })}
            items={list}
            keyOf={({ username }) => username}
          />
        )}
      </Read>
      {leaving && <RemoveMember member={leaving} onClose={() => setLeaving(undefined)} />}
      {refusal !== undefined ? (
        <p className="soft">{refusal}</p>
      ) : (
        <section className="card stack">
          <h2>Add a user</h2>
          <p className="soft">
            For a person without an account, or with whom you share no team, create an{" "}
            <Link href={settingsPath(team, "invitations")}>invitation</Link>.
          </p>
          <AddMember />
        </section>
      )}
    </>
  );
}

interface Actions {
  readonly refusal: string | undefined;
  readonly setRole: (username: string, role: Role) => void;
  readonly remove: (member: Member) => void;
}

const columns = ({ refusal, setRole, remove }: Actions): readonly Column<Member>[] => [
  { title: "User", cell: ({ username }) => username },
  { title: "Name", wide: true, optional: true, cell: ({ first_name, last_name }) => `${first_name} ${last_name}` },
  {
    title: "Kind",
    optional: true,
    cell: ({ service_account, disabled }) => (disabled ? "disabled" : service_account ? "service account" : "person"),
  },
  {
    title: "Role",
    cell: ({ username, role, service_account }) =>
      refusal !== undefined ? (
        role
      ) : (
        <select
          aria-label={`Role of ${username}`}
          value={role}
          onChange={(event) => setRole(username, event.currentTarget.value as Role)}
        >
          {roles
            .filter((one) => one !== "admin" || !service_account)
            .map((one) => (
              <option key={one}>{one}</option>
            ))}
        </select>
      ),
  },
  {
    title: "Actions",
    cell: (member) => (
      <Button refusal={refusal} aria-label={`Remove ${member.username}`} onClick={() => remove(member)}>
        Remove
      </Button>
    ),
  },
];

function AddMember() {
  const team = useTeam();
  const add = useAction(routes.addMember);
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const submit = () =>
    add.mutate(
      { params: { team_name: team }, body: { username: username.trim(), role } },
      { onSuccess: () => setUsername("") },
    );
  return (
    <Form
      action="Add"
      onSubmit={submit}
      busy={add.isPending}
      error={add.error}
      done={add.isSuccess && `Added ${add.data.username}`}
    >
      <div className="settings-columns">
        <TextField label="Username" name="username" value={username} onText={setUsername} required maxLength={39} />
        <RoleChoice value={role} onChange={setRole} />
      </div>
    </Form>
  );
}
