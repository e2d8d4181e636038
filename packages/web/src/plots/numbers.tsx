/** The numbers behind a plot, as a table that opens below it. */
import { type Column, Table } from "../look/table.tsx";

export interface NumberRow {
  readonly key: string;
  readonly label: string;
  readonly values: readonly string[];
}

interface NumbersProps {
  readonly label: string;
  /** Titles of the columns; the first is that of the labels. */
  readonly titles: readonly string[];
  readonly rows: readonly NumberRow[];
}

export function Numbers({ label, titles, rows }: NumbersProps) {
  const [first = "", ...others] = titles;
  const columns: Column<NumberRow>[] = [
    { title: first, cell: (row) => row.label },
    ...others.map((title, index) => ({ title, number: true, cell: (row: NumberRow) => row.values[index] ?? "–" })),
  ];
  return (
    <details className="plot-numbers">
      <summary>Numbers</summary>
      <div className="plot-table">
        <Table label={`${label}: numbers`} columns={columns} items={rows} keyOf={({ key }) => key} />
      </div>
    </details>
  );
}
