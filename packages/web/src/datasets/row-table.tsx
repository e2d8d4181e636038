/** A table of rows, and the dialog that shows one of them with its long values. */
import type { Cell, DatasetRows } from "@millrace/contract";
import { bytesText } from "../look/amount.ts";
import { Dialog } from "../look/dialog.tsx";
import { type Column, Table } from "../look/table.tsx";

type Columns = DatasetRows["columns"];

interface RowTableProps {
  readonly columns: Columns;
  readonly rows: readonly (readonly Cell[])[];
  /** Number of the opened row, from 0. */
  readonly opened: number | undefined;
  readonly onOpen: (row: number | undefined) => void;
}

/** Columns of nested fields are named as in scripts: `file.path`. */
const columnName = (name: string) => name.replaceAll(/(?<=[^_])__(?=[^_])/g, ".");

const isNumber = (type: string) => /^U?(Int|Float)\d*$/.test(type);

export function RowTable({ columns, rows, opened, onOpen }: RowTableProps) {
  const shown: Column<number>[] = [
    { title: "Row", number: true, cell: (row) => <RowButton row={row} onOpen={onOpen} /> },
    ...columns.map(({ name, type }, index) => ({
      // The number keeps titles apart that are equal for people.
      title: `${index} ${name}`,
      head: (
        <span className="row-head" title={`${name}: ${type}`}>
          {columnName(name)} <span className="row-type">{type}</span>
        </span>
      ),
      number: isNumber(type),
      cell: (row: number) => <Value cell={rows[row]?.[index] ?? null} />,
    })),
  ];
  return (
    <div className="rows">
      <Table label="Rows" columns={shown} items={rows.map((_, row) => row)} keyOf={(row) => row} />
      {opened !== undefined && rows[opened] && (
        <OpenedRow columns={columns} cells={rows[opened]} row={opened} onClose={() => onOpen(undefined)} />
      )}
    </div>
  );
}

const RowButton = ({ row, onOpen }: { row: number; onOpen: (row: number) => void }) => (
  <button type="button" className="link" title="Show the whole row" onClick={() => onOpen(row)}>
    <span className="hidden-text">Show row </span>
    {row + 1}
  </button>
);

/** A value in the table, in one line. */
function Value({ cell }: { cell: Cell }) {
  if (cell === null) return <span className="soft">null</span>;
  if (typeof cell === "string") return <span className="row-value">{cell}</span>;
  return (
    <span className="row-value">
      {cell.binary && <span className="soft">{`${bytesText(cell.length)} `}</span>}
      {cell.text}
      {!isWhole(cell) && "…"}
    </span>
  );
}

const isWhole = (cell: Exclude<Cell, string | null>) => cell.binary && cell.text.length === 2 * cell.length;

interface OpenedRowProps {
  readonly columns: Columns;
  readonly cells: readonly Cell[];
  readonly row: number;
  readonly onClose: () => void;
}

const OpenedRow = ({ columns, cells, row, onClose }: OpenedRowProps) => (
  <Dialog title={`Row ${row + 1}`} onClose={onClose}>
    <dl className="opened-row">
      {columns.map(({ name, type }, index) => (
        <div key={name}>
          <dt>
            <code>{columnName(name)}</code> <span className="row-type">{type}</span>
          </dt>
          <dd>
            <Whole cell={cells[index] ?? null} />
          </dd>
        </div>
      ))}
    </dl>
  </Dialog>
);

/** As much of a value as the server sent, on as many lines as it needs. */
function Whole({ cell }: { cell: Cell }) {
  if (cell === null) return <span className="soft">null</span>;
  if (typeof cell === "string") return <pre>{pretty(cell)}</pre>;
  return (
    <>
      <pre>{cell.text}</pre>
      {!isWhole(cell) && <p className="soft small">The beginning of {bytesText(cell.length)}.</p>}
    </>
  );
}

/** JSON on several lines. Only if that keeps every digit: numbers may be larger than those of JavaScript. */
function pretty(text: string): string {
  if (!/^[[{]/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, "$1")
      ? JSON.stringify(value, null, 2)
      : text;
  } catch {
    return text;
  }
}
