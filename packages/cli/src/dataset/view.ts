/** Formats datasets for people and programs. */
import type { Dataset, DatasetVersion, ListedDataset } from "@millrace/contract";
import { shortId } from "../job/id.ts";
import { ageText, sizeText } from "../job/view.ts";
import type { Column } from "../output.ts";

/** A dataset in a list, with the version that the row shows. */
export interface Listed {
  readonly dataset: ListedDataset;
  readonly version: ListedDataset["versions"][number];
}

const nameOf = ({ project, name }: Pick<Dataset, "project" | "name">) =>
  `${project.namespace.name}.${project.name}.${name}`;

const count = (value: number | null) => (value === null ? "" : String(value));

type ShownVersion = Pick<DatasetVersion, "version" | "num_objects" | "size" | "created_at" | "job_id" | "removed_at">;

const versionColumns = (now: number): Column<ShownVersion>[] => [
  { title: "VERSION", full: ({ version }) => version },
  { title: "ROWS", full: ({ num_objects }) => count(num_objects) },
  { title: "SIZE", full: ({ size }) => count(size), short: ({ size }) => (size === null ? "" : sizeText(size)) },
  { title: "CREATED", full: ({ created_at }) => created_at, short: ({ created_at }) => ageText(created_at, now) },
  {
    title: "JOB",
    full: ({ job_id }) => job_id ?? "",
    short: ({ job_id }) => (job_id === null ? "-" : shortId(job_id)),
    shrinks: true,
  },
];

const removedColumn: Column<ShownVersion> = {
  title: "REMOVED",
  full: ({ removed_at }) => removed_at ?? "",
  short: ({ removed_at }) => removed_at?.slice(0, 10) ?? "-",
};

export function listColumns(showsRemoved: boolean, now = Date.now()): Column<Listed>[] {
  const columns = [...versionColumns(now), ...(showsRemoved ? [removedColumn] : [])].map(
    ({ full, short, style: _style, ...rest }): Column<Listed> => ({
      ...rest,
      full: ({ version }) => full(version),
      ...(short ? { short: ({ version }: Listed) => short(version) } : {}),
    }),
  );
  const description = ({ dataset }: Listed) => dataset.description ?? "";
  return [
    { title: "NAME", full: ({ dataset }) => nameOf(dataset), shrinks: "last" },
    ...columns,
    { title: "DESCRIPTION", full: description, shrinks: true },
  ];
}

export const versionsTable = (showsRemoved: boolean, now = Date.now()) => [
  ...versionColumns(now),
  ...(showsRemoved ? [removedColumn] : []),
];

export const datasetFields = (dataset: Dataset): [string, string][] =>
  [
    ["name", nameOf(dataset)],
    ["description", dataset.description ?? ""],
    ["attrs", dataset.attrs.join(", ")],
    ["created_at", dataset.created_at],
  ].filter((field): field is [string, string] => field[1] !== "");

interface ColumnType {
  readonly type?: string;
  readonly item_type?: ColumnType;
  readonly dc_nullable?: boolean;
}

/** Returns the type of a column as text, such as `list of Int64` or `String or null`. */
const typeText = ({ type = "?", item_type, dc_nullable }: ColumnType): string =>
  `${item_type ? `list of ${typeText(item_type)}` : type}${dc_nullable ? " or null" : ""}`;

/** Tells whether a column belongs to the dataset, and is not an internal column of the datachain library. */
const isOwn = (name: string) => !name.startsWith("sys__");

export const schemaRows = (schema: DatasetVersion["schema"]) =>
  Object.entries(schema)
    .filter(([name]) => isOwn(name))
    .map(([name, type]) => ({ name, type: typeText((type ?? {}) as ColumnType) }));

export const schemaColumns: Column<{ name: string; type: string }>[] = [
  { title: "COLUMN", full: ({ name }) => name },
  { title: "TYPE", full: ({ type }) => type },
];

type Row = Readonly<Record<string, unknown>>;

/**
 * Minimum width of a column in characters. A column that would become narrower is left out, because truncated paths are
 * useless.
 */
const leastCell = 20;

/** Returns the columns of the rows, in the order in which they first appear. */
export function previewColumns(rows: readonly Row[]): Column<Row>[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(isOwn);
  return names.map((name) => ({ title: name, full: (row) => cell(row[name]), shrinks: true, least: leastCell }));
}

/** Formats a value. A text stays unchanged, other values become JSON. Numbers keep all their digits. */
const cell = (value: unknown) =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
