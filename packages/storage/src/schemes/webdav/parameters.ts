/** Parameters of `webdav://` and `webdavs://`. The names are our own. */
import { httpParameters } from "../../configuration/http-parameters.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "User name for Basic authentication; if unset, the URI's.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password for Basic authentication; if unset, the URI's.",
  },
  token: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Bearer token, instead of a user name.",
  },
  headers: { type: "dict", default: {}, effect: "native", secret: true, help: "Headers of every request." },
  verify: {
    type: ["boolean", "string"],
    default: true,
    effect: "native",
    help: "Whether to check the certificate, or a file with certificates to trust.",
  },
  max_connections: { type: "integer", default: 16, minimum: 1, effect: "native", help: "Maximum connections." },
  ...httpParameters,
} as const satisfies ParameterTable;
