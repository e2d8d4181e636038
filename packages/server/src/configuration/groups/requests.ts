/** Settings: limits of one request, one connection and one caller. */
import { bytes, flag, integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const requests = group("Requests and connections", {
  bodyLimit: setting({
    env: "MILLRACE_BODY_LIMIT",
    fallback: "16MiB",
    description:
      "maximum size of the JSON body of a request with a job, pipeline settings, credentials or a dataset; the limit of other requests is at most 64 KiB",
    parse: bytes,
  }),
  uploadLimit: setting({
    env: "MILLRACE_UPLOAD_LIMIT",
    fallback: "1GiB",
    description: "maximum size of an uploaded file",
    parse: bytes,
  }),
  requestSeconds: setting({
    env: "MILLRACE_REQUEST_SECONDS",
    fallback: "60",
    description:
      "seconds within which a request must arrive completely; with a valid token, this time applies to each 256 KiB of the request",
    parse: integer(1, 86_400),
  }),
  addressConnections: setting({
    env: "MILLRACE_ADDRESS_CONNECTIONS",
    fallback: "1000",
    description:
      "maximum number of open connections that one address may have without a valid token or session; connections from this machine count per user instead; the limit is at most half of all connections; trusted proxies have no limit",
    parse: integer(1, 1_000_000),
  }),
  reservedFiles: setting({
    env: "MILLRACE_RESERVED_FILES",
    fallback: "256",
    description:
      "number of file descriptors reserved for jobs and the database; the rest is for connections, two for each",
    parse: integer(0, 1_000_000),
  }),
  loginRate: setting({
    env: "MILLRACE_LOGIN_RATE",
    fallback: "30",
    description:
      "a number N: in a minute, one caller may have N sign-ins, N device logins, N wrong links and codes, and 4 × N invalid tokens; after N / 3 wrong passwords, each further one is delayed",
    parse: integer(1, 1_000_000),
  }),
  metricsOpen: setting({
    env: "MILLRACE_METRICS_OPEN",
    fallback: "false",
    description: "`true` makes /metrics readable without a token",
    parse: flag,
  }),
});

export type RequestSettings = Values<typeof requests>;
