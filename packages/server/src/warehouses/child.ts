/**
 * Main program of the child process: reads one task from standard input, runs it, and writes the answer to standard
 * output.
 */
import { text } from "node:stream/consumers";
import { busyExit, unusableExit } from "./exit-codes.ts";
import { openDatabase } from "./open-warehouse.ts";
import { collect } from "./programs/collect.ts";
import { compactWarehouse } from "./programs/compact-warehouse.ts";
import { compareVersions } from "./programs/compare-versions.ts";
import { copyWarehouse } from "./programs/copy-warehouse.ts";
import { editDataset } from "./programs/edit-dataset.ts";
import { listVersions } from "./programs/list-versions.ts";
import { readRows } from "./programs/read-rows.ts";
import { removeVersions } from "./programs/remove-versions.ts";
import { Unusable, unusable } from "./unusable.ts";

interface Told {
  readonly program: string;
  readonly request: never;
  readonly metadata: string;
  readonly rows: string;
}

const opened = ({ metadata, rows }: Told) => [openDatabase(metadata, "write"), openDatabase(rows, "write")] as const;

/**
 * The exporter is imported only when needed: loading its Parquet writer takes longer than many other tasks of this
 * process.
 */
const exporter = () => import("./programs/export-rows.ts");

const programs: Readonly<Record<string, (told: Told) => unknown>> = {
  collect: ({ request, ...files }) => linesOf(collect(files, request)),
  "copy-warehouse": ({ request, ...files }) => copyWarehouse(files, request),
  "compare-versions": ({ request, ...files }) => compareVersions(files, request),
  "compact-warehouse": ({ request: _, ...files }) => compactWarehouse(files),
  "list-versions": listVersions,
  "read-rows": ({ request, rows }) => readRows(openDatabase(rows, "read"), request),
  "export-rows": async ({ request, rows }) => (await exporter()).exportRows(openDatabase(rows, "read"), request),
  // Does nothing except load all modules, which fills the compile cache.
  load: async () => void (await exporter()),
  "edit-dataset": (told) => editDataset(...opened(told), told.request),
  "remove-versions": (told) => removeVersions(...opened(told), told.request),
};

/** Returns one line for the job and one line for each version, so that the server can parse the answer line by line. */
const linesOf = ({ versions, ...rest }: ReturnType<typeof collect>) =>
  Buffer.from([rest, ...versions].map((line) => JSON.stringify(line)).join("\n"));

/** Codes of SQLite errors after which a retry may succeed: busy, locked, I/O error, disk full. */
const passing = [5, 6, 10, 13];
const isPassing = (error: unknown) => passing.includes(((error as { errcode?: number }).errcode ?? 0) & 0xff);

/** Returns an error message for the team; undefined if the error is a bug in the program. */
function reasonOf(error: unknown): string | undefined {
  // Programs throw plain errors with messages for the team; any other class of error is a bug.
  if (error instanceof Unusable || (error as Error).constructor === Error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) return (error as Error).message;
  }
  const { code, errstr = "", message } = error as { code?: string; errstr?: string; message: string };
  if (isPassing(error)) return `The team's warehouse cannot be reached just now: ${errstr}. Try again later.`;
  return code === "ERR_SQLITE_ERROR" ? unusable(errstr || message).message : undefined;
}

try {
  const told = JSON.parse(await text(process.stdin)) as Told;
  const answer = await programs[told.program]?.(told);
  process.stdout.write(answer instanceof Uint8Array ? answer : JSON.stringify(answer ?? null));
} catch (error) {
  const reason = reasonOf(error);
  process.stderr.write(reason ?? String((error as Error).stack));
  process.exitCode = isPassing(error) ? busyExit : reason === undefined ? 1 : unusableExit;
}
