/** Finds the runtime of a query type. */
import { invalid, type QueryType } from "@millrace/contract";
import { python } from "./python.ts";
import type { Runtime } from "./runtime.ts";
import { shell } from "./shell.ts";

/**
 * The runtime of each query type. If no engine runs a type yet, the entry describes its scripts, for an error message.
 */
const runtimes: Readonly<Record<QueryType, Runtime | string>> = {
  PYTHON: python,
  SHELL: shell,
  TYPESCRIPT: "a script whose name ends with .ts",
};

/**
 * Returns the runtime of a query type. If no engine runs that type, throws an error for the request that names it; jobs
 * of such a type are never stored.
 */
export function runtimeOf(queryType: QueryType): Runtime {
  const runtime = runtimes[queryType];
  if (typeof runtime === "object") return runtime;
  const known = Object.entries(runtimes).flatMap(([name, found]) => (typeof found === "object" ? [name] : []));
  throw invalid(
    "query_type",
    `${known.join(" or ")} (no engine runs ${queryType} yet, which is ${runtime})`,
    queryType,
  );
}
