/** Tables: the columns are data, so that every list has the same head, rows and behaviour on a phone. */
import type { ReactNode } from "react";
import "./table.css";

export interface Column<T> {
  readonly title: string;
  /** Shown in the head instead of the title. */
  readonly head?: ReactNode;
  readonly cell: (item: T) => ReactNode;
  /** Numbers are aligned at the right. */
  readonly number?: boolean;
  /** The column that takes the remaining width; its text is cut. */
  readonly wide?: boolean;
  /** Left out on narrow screens. */
  readonly optional?: boolean;
}

interface TableProps<T> {
  /** What the table lists, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string | number;
}

const classOf = <T,>({ number, wide, optional }: Column<T>) =>
  [number && "number", wide && "wide", optional && "optional"].filter(Boolean).join(" ");

export const Table = <T,>({ label, columns, items, keyOf }: TableProps<T>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that is wider than the screen is scrolled with the keyboard
  <section className="table-frame" aria-label={label} tabIndex={0}>
    <table className="table">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" className={classOf(column)}>
              {column.head ?? column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)}>
            {columns.map((column) => (
              <td key={column.title} className={classOf(column)}>
                {column.cell(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
