/** The versions of a dataset, newest first, and the comparison of two of them. */
import { type DatasetVersion, versionStatus } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { countText, filesText } from "../look/amount.ts";
import { Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { datasetPath, fullNameOf } from "../paths/dataset-paths.ts";
import { CompareVersions } from "./compare-versions.tsx";
import { JobLink } from "./job-link.tsx";
import type { Shown } from "./shown.ts";
import { VersionBars } from "./version-bars.tsx";

/** As many versions are listed at first. */
const first = 100;

export function VersionsView({ dataset, version }: Shown) {
  const team = useTeam();
  const [all, showAll] = useUrlState("all");
  const newest = dataset.versions.toReversed();
  const href = (number: string) => datasetPath(team, fullNameOf(dataset), { version: number });
  return (
    <>
      <VersionBars dataset={dataset} />
      <CompareVersions dataset={dataset} version={version} />
      <Table
        label="Versions"
        items={all ? newest : newest.slice(0, first)}
        keyOf={({ uuid }) => uuid}
        columns={[
          { title: "Version", wide: true, cell: (row) => <VersionLink row={row} href={href(row.version)} /> },
          { title: "Rows", number: true, cell: ({ num_objects }) => countText(num_objects) },
          { title: "Files", number: true, optional: true, cell: ({ size }) => filesText(size) },
          { title: "Made by", cell: ({ job_id }) => <JobLink id={job_id} /> },
          { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
      />
      {!all && newest.length > first && (
        <p>
          <button type="button" className="link" onClick={() => showAll("yes")}>
            Show all {countText(newest.length)} versions
          </button>
        </p>
      )}
    </>
  );
}

const VersionLink = ({ row, href }: { row: DatasetVersion; href: string }) => (
  <>
    <Link href={href} className="mono">
      {row.version}
    </Link>
    {row.status === versionStatus.removed && (
      <span className="soft">
        {" "}
        removed <Time at={row.removed_at} />
      </span>
    )}
  </>
);
