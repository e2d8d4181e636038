/** Parameters of every plain web server: how its files are read, and the timeouts. */
import type { ParameterTable } from "./parameters.ts";

export const httpParameters = {
  block_size: {
    type: "integer",
    default: 5 * 1024 * 1024,
    minimum: 1,
    effect: "emulated",
    help: "Size of a range in bytes.",
  },
  max_concurrency: {
    type: "integer",
    default: 1,
    minimum: 1,
    effect: "emulated",
    help: "Maximum number of ranges of one file that are read at once.",
  },
  connection_timeout: { type: "number", default: 60, effect: "native", help: "Connect timeout in seconds." },
  read_timeout: {
    type: "number",
    default: 60,
    effect: "native",
    help: "Maximum seconds to wait for the start of an answer, and for each next piece of it.",
  },
} as const satisfies ParameterTable;
