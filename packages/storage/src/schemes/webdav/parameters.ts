/** What `webdav://` and `webdavs://` take. The names are ours. */
import type { ParameterTable } from "../../parameters.ts";

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
  block_size: {
    type: "integer",
    default: 5 * 1024 * 1024,
    minimum: 1,
    effect: "emulated",
    help: "Bytes of one range.",
  },
  max_concurrency: {
    type: "integer",
    default: 1,
    minimum: 1,
    effect: "emulated",
    help: "Ranges of one file that are read at once.",
  },
  connection_timeout: { type: "number", default: 60, effect: "native", help: "Seconds to wait for a connection." },
  read_timeout: {
    type: "number",
    default: 60,
    effect: "native",
    help: "Seconds to wait for an answer, and between its pieces.",
  },
} as const satisfies ParameterTable;
