/** The next runs of a schedule or task, in its time zone and in the reader's. */
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { inZone, ownZone } from "./zoned-time.ts";

interface NextRunsProps {
  readonly runs: readonly string[];
  readonly timezone: string;
  /** What the table is called. A form beside the page has one, too. */
  readonly label?: string;
}

export function NextRuns({ runs, timezone, label = "Next runs" }: NextRunsProps) {
  if (runs.length === 0) return <p className="soft">No run is scheduled.</p>;
  const columns: Column<string>[] = [
    { title: `In ${timezone}`, cell: (at) => inZone(at, timezone) },
    ...(timezone === ownZone
      ? []
      : [{ title: `Your time (${ownZone})`, optional: true, cell: (at: string) => inZone(at, ownZone) }]),
    { title: "From now", cell: (at) => <Time at={at} /> },
  ];
  return <Table label={label} columns={columns} items={runs} keyOf={(at) => at} />;
}
