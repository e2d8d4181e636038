/** fsspec schemes take whatever parameters their file system takes. */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  "*": {
    type: ["boolean", "number", "string", "dict", "object"],
    default: null,
    effect: "native",
    secret: true,
    help: "Any keyword argument of the fsspec file system. In a chain, the arguments of each further link are a dict under the name of that link's scheme.",
  },
} as const satisfies ParameterTable;
