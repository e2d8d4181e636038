/** Your own tokens: programs use them instead of a password. */
import { routes } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApiPages } from "../api/calls.ts";
import { useSession } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { Choice, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { ShownOnce } from "../look/shown-once.tsx";
import { Empty, Read } from "../look/states.tsx";
import { ExpiryField, expiryOf } from "./expiry-field.tsx";
import { type Levels, ScopeChoice, scopesOf } from "./scope-choice.tsx";
import { TokenTable } from "./token-table.tsx";

export function TokensTab() {
  const tokens = useApiPages(routes.listTokens, { query: {} }, (list) => list);
  const revoke = useAction(routes.revokeToken);
  const byId = {
    ...revoke,
    mutate: (id: string, options: { onSuccess: () => void }) =>
      revoke.mutate({ params: { token_id: id } }, { onSuccess: options.onSuccess }),
  };
  return (
    <>
      <Read from={tokens}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          return items.length > 0 ? (
            <TokenTable tokens={items} revoke={byId} />
          ) : (
            <Empty title="No tokens yet">
              <p>
                Create one below, or sign in on your machine with <code>millrace auth login</code>.
              </p>
            </Empty>
          );
        }}
      </Read>
      {tokens.hasNextPage && (
        <Button busy={tokens.isFetchingNextPage} onClick={() => void tokens.fetchNextPage()}>
          Show older tokens
        </Button>
      )}
      <section className="card stack">
        <h2>New token</h2>
        <NewToken />
      </section>
    </>
  );
}

/** Everything that jobs need. */
const usual: Levels = {
  JOB: "write",
  DATASETS: "write",
  PIPELINES: "write",
  CLUSTERS: "write",
  ADMIN: "none",
};

function NewToken() {
  const { teams } = useSession();
  const create = useAction(routes.createToken);
  const [name, setName] = useState("");
  const [levels, setLevels] = useState(usual);
  const [team, setTeam] = useState("");
  const [days, setDays] = useState("90");
  const submit = () =>
    create.mutate(
      {
        body: {
          name: name.trim(),
          scopes: scopesOf(levels),
          team_names: team === "" ? null : [team],
          expires_in_days: expiryOf(days),
        },
      },
      { onSuccess: () => setName("") },
    );
  return (
    <>
      {create.data && <ShownOnce what={`Created the token “${create.data.name}”.`} text={create.data.access_token} />}
      <Form
        action="Create the token"
        onSubmit={submit}
        busy={create.isPending}
        error={create.error}
        refusal={scopesOf(levels).length === 0 ? "Choose at least one scope." : undefined}
      >
        <div className="settings-columns">
          <div className="stack">
            <TextField
              label="Name"
              name="name"
              value={name}
              onText={setName}
              required
              maxLength={255}
              hint="Where it is used."
            />
            <Choice label="Team" value={team} onText={setTeam}>
              <option value="">All teams, including those you join later</option>
              {teams.map((one) => (
                <option key={one.name} value={one.name}>{`Only ${one.name}`}</option>
              ))}
            </Choice>
            <ExpiryField days={days} onDays={setDays} />
          </div>
          <ScopeChoice value={levels} onChange={setLevels} />
        </div>
      </Form>
    </>
  );
}
