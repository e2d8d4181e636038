/** Parameters of `webdav://` and `webdavs://`. The names are our own. */
import { httpParameters } from "../../configuration/http-parameters.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "Name for Basic authentication; unset: that of the URI, if it has one.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password for Basic authentication; unset: that of the URI, if it has one.",
  },
  token: { type: "string", default: null, effect: "native", secret: true, help: "Bearer token, instead of a name." },
  headers: { type: "dict", default: {}, effect: "native", secret: true, help: "Headers of every request." },
  verify: {
    type: ["boolean", "string"],
    default: true,
    effect: "native",
    help: "Whether the certificate is checked, or a file with the certificates that are trusted.",
  },
  max_connections: { type: "integer", default: 16, minimum: 1, effect: "native", help: "Connections at once." },
  ...httpParameters,
} as const satisfies ParameterTable;
