/** Parameters of `webdav://` and `webdavs://`. The names are our own. */
import { httpParameters } from "../../configuration/http-parameters.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "User name for Basic authentication; if unset, the user in the URI.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password for Basic authentication; if unset, the password in the URI.",
  },
  token: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Bearer token, used instead of user name and password.",
  },
  headers: { type: "dict", default: {}, effect: "native", secret: true, help: "Headers of every request." },
  verify: {
    type: ["boolean", "string"],
    default: true,
    effect: "native",
    help: "True: check the server's certificate; false: trust any certificate; a string: a file with the certificates to trust.",
  },
  max_connections: {
    type: "integer",
    default: 16,
    minimum: 1,
    effect: "native",
    help: "Maximum number of connections.",
  },
  ...httpParameters,
} as const satisfies ParameterTable;
