/** The datasets that a job wrote, each with what it was made from. */
import { type LineageNode, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { Empty, Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { datasetOfJob } from "../paths/job-paths.ts";

interface Made {
  readonly dataset_name: string;
  readonly version: string;
}

/** The inputs of more versions than this are not read. */
const mostInputs = 20;

const columns: readonly Column<Made & { readonly index: number }>[] = [
  { title: "Written", cell: (made) => <DatasetLink name={made.dataset_name} version={made.version} /> },
  {
    title: "Read",
    wide: true,
    cell: ({ index, ...made }) =>
      index < mostInputs ? <Inputs made={made} /> : <span className="soft">see the dataset</span>,
  },
];

export function JobDatasets({ id }: { id: string }) {
  const found = useApi(routes.datasetJobVersions, { query: { job_id: id } });
  return (
    <Read from={found}>
      {({ dataset_versions: versions }) =>
        versions.length === 0 ? (
          <Empty title="No datasets">
            <p>A Python script that saves a dataset shows it here, with what it was made from.</p>
          </Empty>
        ) : (
          <Table
            label="Datasets of the job"
            columns={columns}
            items={versions.map((made, index) => ({ ...made, index }))}
            keyOf={({ dataset_name, version }) => `${dataset_name}@${version}`}
          />
        )
      }
    </Read>
  );
}

function DatasetLink({ name, version }: { name: string; version: string | undefined }) {
  const team = useTeam();
  return (
    <Link href={datasetOfJob(team, name, version)}>
      {name}
      {version !== undefined && <span className="soft">{`@${version}`}</span>}
    </Link>
  );
}

function Inputs({ made }: { made: Made }) {
  const dataset = `${made.dataset_name}@${made.version}`;
  const { data } = useApi(routes.getLineage, { query: { dataset, direction: "upstream", depth: 1 } });
  const inputs = data?.nodes.filter(({ id, kind }) => id !== data.root && kind !== "job") ?? [];
  if (inputs.length === 0) return <span className="soft">–</span>;
  return (
    <span className="row wrap">
      {inputs.map((node) => (
        <Input key={node.id} node={node} />
      ))}
    </span>
  );
}

const Input = ({ node }: { node: LineageNode }) =>
  node.kind === "dataset" ? (
    <DatasetLink name={node.name} version={node.version ?? undefined} />
  ) : (
    <span className="mono">{node.id}</span>
  );
