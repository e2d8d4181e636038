/** The storage browser: folders and files at a URI, with credentials of the team or of one's own. */
import { type Credentials, routes, type StorageEntry } from "@millrace/contract";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { teamPath, useTeam } from "../api/team.tsx";
import { useUrlChange, useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { CopyAs, copyable } from "../look/copy-as.tsx";
import { Command } from "../look/copy-button.tsx";
import { Choice, TextField } from "../look/field.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty, Read } from "../look/states.tsx";
import { Crumbs } from "./crumbs.tsx";
import { EntryTable } from "./entry-table.tsx";
import "./storage.css";
import { pythonStorage } from "./storage-uri.ts";

export default function StorageScreen() {
  const refusal = useRefusal("editor");
  const [uri] = useUrlState("uri");
  return (
    <Screen title="Storage" actions={uri !== "" && refusal === undefined ? <CopyFolder /> : undefined}>
      {refusal === undefined ? (
        <Browser />
      ) : (
        <Empty title="Not allowed">
          <p>{refusal}</p>
        </Empty>
      )}
    </Screen>
  );
}

function Browser() {
  const [uri] = useUrlState("uri");
  const credentials = useApi(routes.listCredentials, { query: {} });
  return (
    <Read from={credentials}>
      {(sets) => (
        <>
          <Place key={uri} sets={sets} />
          {uri === "" ? <Start sets={sets} /> : <Folder />}
        </>
      )}
    </Read>
  );
}

/** The form that says where to look and with what. */
function Place({ sets }: { sets: readonly Credentials[] }) {
  const change = useUrlChange();
  const [uri] = useUrlState("uri");
  const [chosen, choose] = useUrlState("credentials");
  const [typed, setTyped] = useState(uri);
  return (
    <form
      className="storage-place"
      onSubmit={(event) => {
        event.preventDefault();
        change({ uri: typed.trim(), cursor: "" });
      }}
    >
      <Choice label="Credentials" value={chosen} onText={choose}>
        <option value="">none (public buckets, local folders)</option>
        {sets.map(({ name, owner }) => (
          <option key={`${owner} ${name}`} value={name}>
            {owner === "user" ? `${name} (your own)` : name}
          </option>
        ))}
      </Choice>
      <TextField label="URI" value={typed} onText={setTyped} placeholder="s3://bucket/folder" spellCheck={false} />
      <Button kind="main" type="submit">
        Open
      </Button>
    </form>
  );
}

function Start({ sets }: { sets: readonly Credentials[] }) {
  const team = useTeam();
  return (
    <Empty title="Type a URI to look at its files">
      <p>
        s3://, gs:// and az:// with credentials, or file:// for folders that jobs may use. A URI without a bucket lists
        the buckets.
      </p>
      {sets.length === 0 && (
        <>
          <p>
            This team has no credentials yet. An admin can add them in{" "}
            <Link href={teamPath(team, "/settings/credentials")}>the settings</Link>, or on the command line:
          </p>
          <Command text="millrace credentials set aws --file aws.env" />
        </>
      )}
    </Empty>
  );
}

/** The request that lists what the URL says. */
function useListing() {
  const [uri] = useUrlState("uri");
  const [name] = useUrlState("credentials");
  const [cursor] = useUrlState("cursor");
  return { uri, ...(name ? { credentials_name: name } : {}), ...(cursor ? { cursor } : {}) };
}

function CopyFolder() {
  const body = useListing();
  return <CopyAs actions={[copyable("List", routes.browseStorage, () => ({ body }))]} />;
}

function Folder() {
  const [cursor, setCursor] = useUrlState("cursor");
  const body = useListing();
  const { uri } = body;
  const listing = useApi(routes.browseStorage, { body }, { staleTime: 60_000 });
  return (
    <>
      <Crumbs uri={uri} />
      <Read from={listing}>
        {({ entries, next_cursor }) => (
          <div className="stack" aria-busy={listing.isPlaceholderData || undefined}>
            <Entries uri={uri} entries={entries} isFirst={cursor === ""} />
            {(cursor !== "" || next_cursor !== null) && (
              <div className="row">
                {cursor !== "" && <Button onClick={() => setCursor("")}>First page</Button>}
                {next_cursor !== null && <Button onClick={() => setCursor(next_cursor)}>Next page</Button>}
              </div>
            )}
            <details className="storage-code">
              <summary>Use it in code</summary>
              <Command text={pythonStorage(uri)} />
            </details>
          </div>
        )}
      </Read>
    </>
  );
}

const Entries = ({ uri, entries, isFirst }: { uri: string; entries: readonly StorageEntry[]; isFirst: boolean }) =>
  entries.length > 0 ? (
    <EntryTable folder={uri} entries={entries} />
  ) : (
    <Empty title={isFirst ? "Nothing here" : "No more files"}>
      {isFirst && <p>The folder is empty, or there is no folder or file of this name.</p>}
    </Empty>
  );
