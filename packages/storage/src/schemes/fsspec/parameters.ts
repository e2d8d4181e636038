/** fsspec schemes take whatever parameters their file system takes. */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  "*": {
    type: ["boolean", "number", "string", "dict", "object"],
    default: null,
    effect: "native",
    secret: true,
    help: "Any keyword argument of fsspec's file system. In a chain, the arguments of another link are a dict under its name.",
  },
} as const satisfies ParameterTable;
