/** Parameters of archives: where the archive lies, and the parameters of the storage that holds it. */
import type { ParameterTable } from "../configuration/parameters.ts";

export const archiveParameters = {
  fo: {
    type: "string",
    default: null,
    effect: "native",
    help: "URI of the archive, if the opened URI does not contain it after ::.",
  },
  target_options: {
    type: "dict",
    default: {},
    effect: "native",
    secret: true,
    help: "Parameters of the storage that holds the archive.",
  },
  "*": {
    type: ["dict", "string", "number", "boolean", "object"],
    default: null,
    effect: "native",
    secret: true,
    help: "The name of a scheme in the chain, such as s3, with a dict of the parameters of that scheme.",
  },
} as const satisfies ParameterTable;
