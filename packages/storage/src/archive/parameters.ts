/** Parameters of archives: where the archive lies, and the parameters of the storage that holds it. */
import type { ParameterTable } from "../configuration/parameters.ts";

export const archiveParameters = {
  fo: {
    type: "string",
    default: null,
    effect: "native",
    help: "URI of the archive, where it does not stand behind :: in the URI.",
  },
  target_options: {
    type: "dict",
    default: {},
    effect: "native",
    secret: true,
    help: "Parameters of the storage that the archive lies in.",
  },
  "*": {
    type: ["dict", "string", "number", "boolean", "object"],
    default: null,
    effect: "native",
    secret: true,
    help: "The name of a kind of storage in the chain, such as s3: a dict with its parameters.",
  },
} as const satisfies ParameterTable;
