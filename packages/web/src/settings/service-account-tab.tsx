/** The team's service account: a user that is not a person. Schedules that it owns continue when a person leaves. */
import { type Role, routes, type ScopeName, scopeNames } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { useManageRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { ShownOnce } from "../look/shown-once.tsx";
import { Empty, Read } from "../look/states.tsx";
import { ExpiryField, expiryOf } from "./expiry-field.tsx";
import { NotAllowed } from "./not-allowed.tsx";
import { RoleChoice } from "./role-choice.tsx";
import { type Levels, ScopeChoice, scopesOf } from "./scope-choice.tsx";
import { TokenTable } from "./token-table.tsx";

export function ServiceAccountTab() {
  const team_name = useTeam();
  const refusal = useManageRefusal();
  const members = useApi(routes.listMembers, { params: { team_name } });
  if (refusal !== undefined) return <NotAllowed what="the tokens of the service account" why={refusal} />;
  return (
    <Read from={members}>
      {(list) => {
        const account = list.find(({ service_account }) => service_account);
        return account ? <Account username={account.username} role={account.role} /> : <NewAccount />;
      }}
    </Read>
  );
}

function NewAccount() {
  const team_name = useTeam();
  const create = useAction(routes.createServiceAccount);
  const [role, setRole] = useState<Role>("editor");
  return (
    <section className="card stack">
      <h2>This team has no service account</h2>
      <p className="soft">
        A service account is a user that is not a person: for servers that run jobs, and as the owner of schedules that
        continue when a person leaves. Nobody can sign in as it; admins create its tokens.
      </p>
      <Form
        action="Create the service account"
        onSubmit={() => create.mutate({ params: { team_name }, body: { role: role as "viewer" | "editor" } })}
        busy={create.isPending}
        error={create.error}
      >
        <RoleChoice value={role} onChange={setRole} among={["viewer", "editor"]} />
      </Form>
    </section>
  );
}

function Account({ username, role }: { username: string; role: Role }) {
  const team_name = useTeam();
  const tokens = useApi(routes.listServiceTokens, { params: { team_name } });
  const revoke = useAction(routes.revokeServiceToken);
  const byId = {
    ...revoke,
    mutate: (id: string, options: { onSuccess: () => void }) =>
      revoke.mutate({ params: { team_name, service_token_id: id } }, { onSuccess: options.onSuccess }),
  };
  return (
    <>
      <p>
        The service account of this team is <b>{username}</b>, {role === "editor" ? "an" : "a"} {role}.
      </p>
      <Read from={tokens}>
        {(list) =>
          list.length > 0 ? (
            <TokenTable tokens={list} revoke={byId} />
          ) : (
            <Empty title="No tokens yet">
              <p>Create one below for the program that runs as {username}.</p>
            </Empty>
          )
        }
      </Read>
      <section className="card stack">
        <h2>New token</h2>
        <NewServiceToken />
      </section>
    </>
  );
}

/** A service account never gets ADMIN. */
const names: readonly ScopeName[] = scopeNames.filter((name) => name !== "ADMIN");

function NewServiceToken() {
  const team_name = useTeam();
  const create = useAction(routes.createServiceToken);
  const [name, setName] = useState("");
  const [days, setDays] = useState("365");
  const [levels, setLevels] = useState<Levels>({
    JOB: "write",
    DATASETS: "write",
    PIPELINES: "write",
    CLUSTERS: "read",
  });
  const submit = () =>
    create.mutate(
      {
        params: { team_name },
        body: {
          token_name: name.trim(),
          scopes: scopesOf(levels),
          expires_in_days: expiryOf(days),
        },
      },
      { onSuccess: () => setName("") },
    );
  return (
    <>
      {create.data && <ShownOnce what={`Created the token “${create.data.name}”.`} text={create.data.access_token} />}
      <Form action="Create the token" onSubmit={submit} busy={create.isPending} error={create.error}>
        <div className="settings-columns">
          <div className="stack">
            <TextField label="Name" name="token_name" value={name} onText={setName} required maxLength={255} />
            <ExpiryField days={days} onDays={setDays} />
          </div>
          <ScopeChoice value={levels} onChange={setLevels} names={names} />
        </div>
      </Form>
    </>
  );
}
