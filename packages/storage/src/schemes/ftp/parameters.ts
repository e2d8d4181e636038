/**
 * Parameters of `ftp://` and `ftps://`. The names are our own; where fsspec has the same name, the meaning is the same.
 */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "User name; if unset, the user in the URI, or anonymous if the URI has none.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password; if unset, the password in the URI.",
  },
  tls: {
    type: "string",
    default: null,
    choices: ["none", "explicit", "implicit"],
    effect: "native",
    help: "Encryption of the connection; if unset, explicit for ftps:// and none for ftp://.",
  },
  verify: {
    type: ["boolean", "string"],
    default: true,
    effect: "native",
    help: "True: check the server's certificate; false: trust any certificate; a string: a file with the certificates to trust.",
  },
  encoding: {
    type: "string",
    default: "utf-8",
    choices: ["utf-8", "latin1"],
    effect: "native",
    help: "Encoding of file names on the server.",
  },
  max_connections: {
    type: "integer",
    default: 4,
    minimum: 1,
    effect: "native",
    help: "Maximum number of files that are read at once, and the same for files that are written; each uses its own connection.",
  },
  timeout: { type: "number", default: 60, effect: "native", help: "Timeout in seconds for an answer." },
} as const satisfies ParameterTable;
