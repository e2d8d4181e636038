/** A table of tokens, each with a button that revokes it. Values of tokens are never shown. */
import { scopesInWords, type Token } from "@millrace/contract";
import { useState } from "react";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";

interface Revoking {
  readonly mutate: (id: string, options: { onSuccess: () => void }) => void;
  readonly isPending: boolean;
  readonly error: unknown;
}

const columns: readonly Column<Token>[] = [
  { title: "Name", wide: true, cell: ({ name }) => name },
  { title: "May use", optional: true, cell: ({ scopes }) => scopesInWords(scopes) },
  { title: "Teams", optional: true, cell: ({ team_names }) => team_names?.join(", ") ?? "all" },
  { title: "Last used", optional: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { title: "Expires", cell: ({ expires_at }) => (expires_at === null ? "never" : <Time at={expires_at} />) },
];

export function TokenTable({ tokens, revoke }: { tokens: readonly Token[]; revoke: Revoking }) {
  const [asked, setAsked] = useState<Token>();
  const withRevoke: Column<Token> = {
    title: "Actions",
    cell: (token) => (
      <Button aria-label={`Revoke ${token.name}`} onClick={() => setAsked(token)}>
        Revoke
      </Button>
    ),
  };
  return (
    <>
      <Table label="Tokens" columns={[...columns, withRevoke]} items={tokens} keyOf={({ id }) => id} />
      {asked && (
        <AskFirst
          title={`Revoke the token ${asked.name}?`}
          action="Revoke"
          busy={revoke.isPending}
          error={revoke.error}
          onClose={() => setAsked(undefined)}
          onConfirm={() => revoke.mutate(String(asked.id), { onSuccess: () => setAsked(undefined) })}
        >
          <p>Programs that use it are refused from their next request. Running jobs continue.</p>
        </AskFirst>
      )}
    </>
  );
}
