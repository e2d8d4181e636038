/** The page of a dataset: its versions, rows, schema, lineage and exports. */
import { type Dataset, type DatasetVersion, routes, versionStatus } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useLastPart, useUrlChange, useUrlState } from "../api/url-state.ts";
import { CopyButton } from "../look/copy-button.tsx";
import { Screen, Tabs } from "../look/screen.tsx";
import { NotRead } from "../look/states.tsx";
import { datasetPath, datasetsPath, fullNameOf } from "../paths/dataset-paths.ts";
import { DatasetActions } from "./dataset-actions.tsx";
import { DatasetFacts } from "./dataset-facts.tsx";
import { LineageView } from "./lineage-view.tsx";
import { RowsView } from "./rows-view.tsx";
import { SchemaView } from "./schema-view.tsx";
import type { Shown } from "./shown.ts";
import { UseView } from "./use-view.tsx";
import { VersionsView } from "./versions-view.tsx";
import "./dataset.css";

export default function DatasetScreen() {
  const name = useLastPart();
  const team = useTeam();
  const [version] = useUrlState("version");
  const query = { name: version ? `${name}@${version}` : name, include_removed: true };
  const found = useApi(routes.getDataset, { query });
  if (found.data === undefined)
    return (
      <Screen title={name}>
        <NotRead from={found} list={{ href: datasetsPath(team), title: "All datasets" }} />
      </Screen>
    );
  return <DatasetPage dataset={found.data} />;
}

/** The version that the page shows: the one in the URL, or the newest one that was not removed. */
function useVersion({ versions }: Dataset): DatasetVersion | undefined {
  const [wanted] = useUrlState("version");
  return (
    versions.find(({ version }) => version === wanted) ??
    versions.findLast(({ status }) => status === versionStatus.complete) ??
    versions.at(-1)
  );
}

function DatasetPage({ dataset }: { dataset: Dataset }) {
  const name = fullNameOf(dataset);
  const version = useVersion(dataset);
  if (!version) return null;
  return (
    <Screen
      title={name}
      beside={
        <>
          <CopyButton text={name} label="Copy the name" />
          <VersionChoice dataset={dataset} version={version} />
        </>
      }
      actions={<DatasetActions dataset={dataset} version={version} />}
    >
      <DatasetFacts dataset={dataset} version={version} />
      <Parts dataset={dataset} version={version} />
    </Screen>
  );
}

function VersionChoice({ dataset, version }: { dataset: Dataset; version: DatasetVersion }) {
  const change = useUrlChange();
  return (
    <select
      className="version-choice"
      aria-label="Version"
      value={version.version}
      onChange={(event) => change({ version: event.currentTarget.value })}
    >
      {dataset.versions.toReversed().map(({ version: number, status }) => (
        <option key={number} value={number}>
          {number}
          {status === versionStatus.removed ? " (removed)" : ""}
        </option>
      ))}
    </select>
  );
}

const parts = [
  ["rows", "Rows", RowsView],
  ["schema", "Schema", ({ version }: Shown) => <SchemaView version={version} />],
  ["versions", "Versions", VersionsView],
  ["lineage", "Lineage", LineageView],
  ["use", "Use and export", UseView],
] as const;

function Parts({ dataset, version }: Shown) {
  const team = useTeam();
  const [wanted] = useUrlState("version");
  const [tab] = useUrlState("tab", parts[0][0]);
  const href = (id: string) =>
    datasetPath(team, fullNameOf(dataset), {
      ...(wanted ? { version: wanted } : {}),
      ...(id === parts[0][0] ? {} : { tab: id }),
    });
  const [id, , Part] = parts.find(([part]) => part === tab) ?? parts[0];
  return (
    <>
      <Tabs
        label="Parts of the dataset"
        tabs={parts.map(([part, title]) => ({ href: href(part), title }))}
        current={href(id)}
      />
      <Part dataset={dataset} version={version} />
    </>
  );
}
