/** The folders and files of a folder. */
import type { StorageEntry } from "@millrace/contract";
import { useUrlChange } from "../api/url-state.ts";
import { bytesText } from "../look/amount.ts";
import { CopyButton } from "../look/copy-button.tsx";
import { Icon } from "../look/icon.tsx";
import { Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { childUri } from "./storage-uri.ts";

export const EntryTable = ({ folder, entries }: { folder: string; entries: readonly StorageEntry[] }) => (
  <Table
    label="Files and folders"
    items={entries}
    keyOf={({ kind, name }) => `${kind} ${name}`}
    columns={[
      { title: "Name", wide: true, cell: (entry) => <EntryName folder={folder} entry={entry} /> },
      { title: "Size", number: true, cell: ({ kind, size }) => (kind === "folder" ? "" : bytesText(size)) },
      {
        title: "Modified",
        optional: true,
        cell: ({ kind, last_modified }) => (kind === "folder" ? "" : <Time at={last_modified} />),
      },
      {
        title: "URI",
        cell: ({ name }) => <CopyButton text={childUri(folder, name)} label={`Copy the URI of ${name}`} />,
      },
    ]}
  />
);

function EntryName({ folder, entry: { name, kind } }: { folder: string; entry: StorageEntry }) {
  const change = useUrlChange();
  if (kind === "file") return <span className="mono entry-file">{name}</span>;
  return (
    <button
      type="button"
      className="link mono entry-folder"
      onClick={() => change({ uri: childUri(folder, name), cursor: "" })}
    >
      <Icon name="storage" />
      {name}/
    </button>
  );
}
