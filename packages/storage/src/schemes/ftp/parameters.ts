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
    help: "Name to log in with; unset: that of the URI, else anonymous.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password; unset: that of the URI, if it has one.",
  },
  tls: {
    type: "string",
    default: null,
    choices: ["none", "explicit", "implicit"],
    effect: "native",
    help: "How the connection is encrypted; unset: explicit for ftps://, none for ftp://.",
  },
  verify: {
    type: ["boolean", "string"],
    default: true,
    effect: "native",
    help: "Whether the certificate is checked, or a file with the certificates that are trusted.",
  },
  encoding: {
    type: "string",
    default: "utf-8",
    choices: ["utf-8", "latin1"],
    effect: "native",
    help: "How the server writes names.",
  },
  max_connections: {
    type: "integer",
    default: 4,
    minimum: 1,
    effect: "native",
    help: "Files that are read at once, and as many that are written: each takes a connection of its own.",
  },
  timeout: { type: "number", default: 60, effect: "native", help: "Seconds to wait for an answer." },
} as const satisfies ParameterTable;
