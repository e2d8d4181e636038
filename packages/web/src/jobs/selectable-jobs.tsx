/** A table of jobs with a box to select each. */
import type { Job } from "@millrace/contract";
import { useMemo } from "react";
import { type Column, Table } from "../look/table.tsx";
import { jobColumns } from "./job-table.tsx";

interface SelectableProps {
  readonly jobs: readonly Job[];
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: ReadonlySet<string>) => void;
}

export function SelectableJobs({ jobs, selected, onSelect }: SelectableProps) {
  const all = jobs.length > 0 && jobs.every(({ id }) => selected.has(id));
  const some = jobs.some(({ id }) => selected.has(id));
  const columns = useMemo<Column<Job>[]>(() => {
    const set = (ids: readonly string[], chosen: boolean) => {
      const after = new Set(selected);
      for (const id of ids) after[chosen ? "add" : "delete"](id);
      onSelect(after);
    };
    const ids = jobs.map(({ id }) => id);
    const box: Column<Job> = {
      title: "Select",
      head: (
        <Box label="Select all shown jobs" checked={all} isPart={some && !all} onCheck={(chosen) => set(ids, chosen)} />
      ),
      cell: ({ id, name }) => (
        <Box label={`Select ${name ?? id}`} checked={selected.has(id)} onCheck={(chosen) => set([id], chosen)} />
      ),
    };
    return [box, ...jobColumns];
  }, [jobs, selected, all, some, onSelect]);
  return <Table label="Jobs" columns={columns} items={jobs} keyOf={({ id }) => id} />;
}

interface BoxProps {
  readonly label: string;
  readonly checked: boolean;
  /** Whether it stands for several, of which some are checked. */
  readonly isPart?: boolean;
  readonly onCheck: (checked: boolean) => void;
}

const Box = ({ label, checked, isPart = false, onCheck }: BoxProps) => (
  <input
    ref={(box) => {
      if (box) box.indeterminate = isPart;
    }}
    type="checkbox"
    aria-label={label}
    checked={checked}
    onChange={(event) => onCheck(event.currentTarget.checked)}
  />
);
