/** Finds the runtime of a query type. */
import { invalid, type QueryType } from "@millrace/contract";
import { python } from "./python.ts";
import type { Runtime } from "./runtime.ts";
import { shell } from "./shell.ts";

/**
 * The runtime of each query type. If no engine runs a type yet, its entry is a text for an error message, which
 * describes scripts of this type.
 */
const runtimes: Readonly<Record<QueryType, Runtime | string>> = {
  PYTHON: python,
  SHELL: shell,
  TYPESCRIPT: "a script whose name ends with .ts",
};

/**
 * Returns the runtime of a query type. If no engine runs that type, throws the error for a request with an invalid
 * `query_type`. This cannot happen for stored jobs, because jobs of such a type are never stored.
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
