/** A table of datasets with their newest versions. */
import { type ListedDataset, versionStatus } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { countText, filesText } from "../look/amount.ts";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { datasetPath, fullNameOf, placeOf } from "../paths/dataset-paths.ts";
import { JobLink } from "./job-link.tsx";

/** The newest version that still has rows; the newest one at all if every version was removed. */
const newest = ({ versions }: ListedDataset) =>
  versions.findLast(({ status }) => status === versionStatus.complete) ?? versions.at(-1);

const isRemoved = (dataset: ListedDataset) => newest(dataset)?.status === versionStatus.removed;

const columns: readonly Column<ListedDataset>[] = [
  { title: "Name", wide: true, cell: (dataset) => <Name dataset={dataset} /> },
  { title: "Project", optional: true, cell: (dataset) => <Place place={placeOf(dataset)} /> },
  {
    title: "Newest",
    cell: (dataset) => (
      <span className="mono">
        {newest(dataset)?.version}
        {isRemoved(dataset) && <span className="soft"> removed</span>}
      </span>
    ),
  },
  { title: "Versions", number: true, optional: true, cell: ({ versions }) => countText(versions.length) },
  { title: "Rows", number: true, cell: (dataset) => countText(newest(dataset)?.num_objects) },
  { title: "Files", number: true, optional: true, cell: (dataset) => filesText(newest(dataset)?.size) },
  { title: "Made by", optional: true, cell: (dataset) => <JobLink id={newest(dataset)?.job_id ?? null} /> },
  { title: "Created", optional: true, cell: (dataset) => <Time at={newest(dataset)?.created_at} /> },
];

export const DatasetTable = ({ datasets }: { datasets: readonly ListedDataset[] }) => (
  <Table label="Datasets" columns={columns} items={datasets} keyOf={({ id }) => id} />
);

function Name({ dataset }: { dataset: ListedDataset }) {
  const team = useTeam();
  return (
    <Link href={datasetPath(team, fullNameOf(dataset))} title={dataset.description ?? fullNameOf(dataset)}>
      {dataset.name}
      {/* A phone has no place for the column of the project. */}
      <span className="dataset-place small soft mono">{placeOf(dataset)}</span>
    </Link>
  );
}

/** Namespace and project. A click shows only their datasets. */
function Place({ place }: { place: string }) {
  const [, setPlace] = useUrlState("place");
  return (
    <button type="button" className="link mono" onClick={() => setPlace(place)} title={`Show only ${place}`}>
      {place}
    </button>
  );
}
