/** What `millrace doctor` checks, from inside the running server. */
import { type Finding, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { Button } from "../look/button.tsx";
import { Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";

const shown: Readonly<Record<Finding["level"], readonly [string, string]>> = {
  ok: ["COMPLETE", "Good"],
  warn: ["PAUSED", "Warning"],
  error: ["FAILED", "Error"],
};

const columns: readonly Column<Finding>[] = [
  { title: "Result", cell: ({ level }) => <Status status={shown[level][0]} word={shown[level][1]} /> },
  { title: "Topic", cell: ({ topic }) => topic },
  {
    title: "Finding",
    wide: true,
    cell: ({ message, next }) => (
      <span className="wrapped">
        {message}
        {next !== undefined && <span className="soft"> Next: {next}</span>}
      </span>
    ),
  },
];

export function DoctorTab() {
  const doctor = useApi(routes.getDoctor, {}, { staleTime: 10_000 });
  return (
    <Read from={doctor}>
      {({ checked_at, findings }) => (
        <>
          <div className="row wrap">
            <Button icon="again" busy={doctor.isFetching} onClick={() => void doctor.refetch()}>
              Check again
            </Button>
            <span className="soft">
              Checked <Time at={checked_at} />
            </span>
          </div>
          <Table label="Findings" columns={columns} items={findings} keyOf={({ topic, message }) => topic + message} />
        </>
      )}
    </Read>
  );
}
