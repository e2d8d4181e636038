/** The backfills of a team, newest first. */
import { type BackfillItem, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApiPages } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { Command } from "../look/copy-button.tsx";
import { More } from "../look/more.tsx";
import { Empty, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { backfillPath } from "../paths/schedule-paths.ts";
import { BackfillBar } from "./backfill-bar.tsx";
import { dateInZone } from "./zoned-time.ts";

export function BackfillList() {
  const team = useTeam();
  const backfills = useApiPages(routes.listBackfills, { query: {} }, (list) => list);
  return (
    <Read from={backfills}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items);
        if (items.length === 0) return <NoBackfills />;
        return (
          <>
            <Table label="Backfills" columns={columnsOf(team)} items={items} keyOf={({ id }) => id} />
            <More of={backfills}>Show older backfills</More>
          </>
        );
      }}
    </Read>
  );
}

const columnsOf = (team: string): readonly Column<BackfillItem>[] => [
  { title: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    title: "Backfill",
    wide: true,
    cell: (item) => <Link href={backfillPath(team, item.id)}>{`${item.pipeline_name} (${item.id})`}</Link>,
  },
  {
    title: "Range",
    optional: true,
    cell: ({ from, to, timezone }) => `${dateInZone(from, timezone)} to ${dateInZone(to, timezone)}`,
  },
  { title: "Progress", cell: (item) => <BackfillBar backfill={item} /> },
  { title: "Created by", optional: true, cell: ({ created_by }) => created_by },
  { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const NoBackfills = () => (
  <Empty title="No backfills yet">
    <p>A backfill runs a pipeline for times in the past, such as each day of last month. From a terminal:</p>
    <Command text="millrace pipeline backfill PIPELINE --from 2026-01-01 --to 2026-01-31 --every day" />
  </Empty>
);
