/** Parameters of `http://` and `https://`. */
import { httpParameters } from "../../configuration/http-parameters.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  headers: {
    type: "dict",
    default: {},
    effect: "native",
    secret: true,
    help: "Headers of every request, such as Authorization; after a redirect to another server, only accept, user-agent and range are sent.",
  },
  ...httpParameters,
} as const satisfies ParameterTable;
