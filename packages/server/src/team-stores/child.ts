/** The child: reads one task from its standard input, does it, writes the answer to its standard output, ends. */
import { text } from "node:stream/consumers";
import { unusableExit } from "./exit-codes.ts";
import { collect } from "./programs/collect.ts";
import { copyStore } from "./programs/copy-store.ts";
import { listVersions } from "./programs/list-versions.ts";
import { Unusable, unusable } from "./unusable.ts";

interface Told {
  readonly program: string;
  readonly request: never;
  readonly metadata: string;
  readonly rows: string;
}

const programs: Readonly<Record<string, (told: Told) => unknown>> = {
  collect: ({ request, ...files }) => collect(files, request),
  "copy-store": ({ request, ...files }) => copyStore(files, request),
  "list-versions": listVersions,
};

/** SQLite's own words for what is wrong with a file, or who holds it. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof Unusable) return error.message;
  const { code, errstr, message } = error as { code?: string; errstr?: string; message: string };
  return code === "ERR_SQLITE_ERROR" ? unusable(errstr ?? message).message : undefined;
}

try {
  const told = JSON.parse(await text(process.stdin)) as Told;
  const answer = await programs[told.program]?.(told);
  process.stdout.write(answer instanceof Uint8Array ? answer : JSON.stringify(answer ?? null));
} catch (error) {
  const reason = reasonOf(error);
  process.stderr.write(reason ?? String((error as Error).stack));
  process.exitCode = reason === undefined ? 1 : unusableExit;
}
