/** What one request, one connection and one caller may ask of the server. */
import { bytes, flag, integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const requests = group("Requests and connections", {
  bodyLimit: setting({
    env: "MILLRACE_BODY_LIMIT",
    fallback: "16MiB",
    description:
      "largest JSON body of a request that carries a job, pipeline settings, credentials or a dataset; other requests take 64 KiB or less",
    parse: bytes,
  }),
  uploadLimit: setting({
    env: "MILLRACE_UPLOAD_LIMIT",
    fallback: "1GiB",
    description: "largest file that may be uploaded",
    parse: bytes,
  }),
  requestSeconds: setting({
    env: "MILLRACE_REQUEST_SECONDS",
    fallback: "60",
    description:
      "seconds within which a request must have arrived completely; with a valid token, the time allowed for each 256 KiB of it",
    parse: integer(1, 86_400),
  }),
  addressConnections: setting({
    env: "MILLRACE_ADDRESS_CONNECTIONS",
    fallback: "1000",
    description:
      "connections without a valid token or session that one address may have open (on this machine: one user), at most half of all connections; trusted proxies are not counted",
    parse: integer(1, 1_000_000),
  }),
  reservedFiles: setting({
    env: "MILLRACE_RESERVED_FILES",
    fallback: "256",
    description:
      "file descriptors that connections leave free for jobs and the database; each connection may take two of the others",
    parse: integer(0, 1_000_000),
  }),
  loginRate: setting({
    env: "MILLRACE_LOGIN_RATE",
    fallback: "30",
    description:
      "sign-ins, device logins, and wrong links and codes allowed per minute and caller; wrong passwords are delayed after a third of that, and four times as many bad tokens are allowed",
    parse: integer(1, 1_000_000),
  }),
  metricsOpen: setting({
    env: "MILLRACE_METRICS_OPEN",
    fallback: "false",
    description: "true serves /metrics without a token",
    parse: flag,
  }),
});

export type RequestSettings = Values<typeof requests>;
