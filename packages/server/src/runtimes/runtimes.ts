/** The runtime of each query type. */
import { invalid, type QueryType } from "@millrace/contract";
import { python } from "./python.ts";
import type { Runtime } from "./runtime.ts";
import { shell } from "./shell.ts";

/** One line for each query type: its runtime; or which scripts it means, where no engine runs them yet. */
const runtimes: Readonly<Record<QueryType, Runtime | string>> = {
  PYTHON: python,
  SHELL: shell,
  TYPESCRIPT: "a script whose name ends with .ts",
};

/** Throws what the caller is told where no engine runs such jobs. No stored job is one. */
export function runtimeOf(queryType: QueryType): Runtime {
  const runtime = runtimes[queryType];
  if (typeof runtime === "object") return runtime;
  const known = Object.entries(runtimes).flatMap(([name, found]) => (typeof found === "object" ? [name] : []));
  throw invalid("query_type", `${known.join(" or ")}: no engine runs ${queryType} yet (${runtime})`, queryType);
}
