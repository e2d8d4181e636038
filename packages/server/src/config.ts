/** The only reader of the environment: one table of settings, validated once, printed by `millrace doctor`. */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";

interface Setting<T> {
  readonly env: string;
  readonly flag?: string;
  /** As a person would write it; shown in the docs and by doctor. */
  readonly fallback: string;
  readonly description: string;
  /** Not shown in clear. */
  readonly secret?: true;
  parse(text: string): T;
}

const setting = <T>(definition: Setting<T>): Setting<T> => definition;

export const settings = {
  host: setting({
    env: "MILLRACE_HOST",
    flag: "host",
    fallback: "127.0.0.1",
    description: "address to listen on",
    parse: (text) => text,
  }),
  port: setting({
    env: "MILLRACE_PORT",
    flag: "port",
    fallback: "8484",
    description: "port to listen on; 0 takes a free one",
    parse: integer(0, 65535),
  }),
  dataDir: setting({
    env: "MILLRACE_DATA_DIR",
    flag: "data-dir",
    fallback: "./.millrace",
    description: "folder of the embedded store, uploads, job folders, logs and environments",
    parse: (text) => resolve(text),
  }),
  databaseUrl: setting({
    env: "MILLRACE_DATABASE_URL",
    flag: "database-url",
    fallback: "",
    description: "postgres://… for a PostgreSQL store; empty: SQLite in the data folder",
    secret: true,
    parse: databaseUrl,
  }),
  isolation: setting({
    env: "MILLRACE_ISOLATION",
    fallback: "auto",
    description:
      "what stands between a job and the machine: auto, none, uid, bwrap (uid and bwrap come in a later version)",
    parse: choice("auto", "none", "uid", "bwrap"),
  }),
  jobPaths: setting({
    env: "MILLRACE_JOB_PATHS",
    fallback: "",
    description: "host folders that jobs may use, as /data:ro,/scratch:rw; file:// repositories must lie below one",
    parse: jobPaths,
  }),
  timezone: setting({
    env: "MILLRACE_TIMEZONE",
    fallback: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    description: "IANA time zone in which a start_after without an offset is read",
    parse: timezone,
  }),
  publicUrl: setting({
    env: "MILLRACE_PUBLIC_URL",
    fallback: "",
    description: "where people reach the server, for links; empty: http://host:port",
    parse: publicUrl,
  }),
  maxWorkers: setting({
    env: "MILLRACE_MAX_WORKERS",
    fallback: String(availableParallelism()),
    description: "slots of the local cluster",
    parse: integer(1, 100_000),
  }),
  uploadLimit: setting({
    env: "MILLRACE_UPLOAD_LIMIT",
    fallback: "1GiB",
    description: "largest file that may be uploaded",
    parse: bytes,
  }),
  bodyLimit: setting({
    env: "MILLRACE_BODY_LIMIT",
    fallback: "16MiB",
    description: "largest JSON body",
    parse: bytes,
  }),
  unusedFileDays: setting({
    env: "MILLRACE_UNUSED_FILE_DAYS",
    fallback: "7",
    description: "days after which an uploaded file that no job took along is removed",
    parse: integer(1, 36_500),
  }),
  logDays: setting({
    env: "MILLRACE_LOG_DAYS",
    fallback: "90",
    description: "days after its end when a job's log and folder are removed; 0 keeps them",
    parse: integer(0, 36_500),
  }),
  envDays: setting({
    env: "MILLRACE_ENV_DAYS",
    fallback: "30",
    description: "days after which a virtualenv that no job used is removed; 0 keeps them",
    parse: integer(0, 36_500),
  }),
  auditDays: setting({
    env: "MILLRACE_AUDIT_DAYS",
    fallback: "365",
    description: "days for which the audit is kept; 0 keeps it for ever",
    parse: integer(0, 36_500),
  }),
  diskFloor: setting({
    env: "MILLRACE_DISK_FLOOR",
    fallback: "1GiB",
    description: "free space in the data folder below which no job is started or taken; 0 for no floor",
    parse: bytes,
  }),
  teamRunning: setting({
    env: "MILLRACE_TEAM_RUNNING",
    fallback: "0",
    description: "jobs of one team that may run at once, unless the team has a quota of its own; 0 for no limit",
    parse: integer(0, 1_000_000),
  }),
  teamQueued: setting({
    env: "MILLRACE_TEAM_QUEUED",
    fallback: "10000",
    description: "jobs of one team that may wait, unless the team has a quota of its own; 0 for no limit",
    parse: integer(0, 100_000_000),
  }),
  metricsOpen: setting({
    env: "MILLRACE_METRICS_OPEN",
    fallback: "false",
    description: "true: /metrics needs no token",
    parse: (text) => choice("true", "false")(text) === "true",
  }),
  cancelGrace: setting({
    env: "MILLRACE_CANCEL_GRACE",
    fallback: "10",
    description: "seconds between TERM and KILL when a job is cancelled",
    parse: integer(0, 86_400),
  }),
  loginRate: setting({
    env: "MILLRACE_LOGIN_RATE",
    fallback: "30",
    description: "device logins, code answers and sign-in links a minute from one address; 4 times as many bad tokens",
    parse: integer(1, 1_000_000),
  }),
  logLevel: setting({
    env: "MILLRACE_LOG_LEVEL",
    fallback: "info",
    description: "trace, debug, info, warn, error or silent; JSON lines on standard error",
    parse: choice("trace", "debug", "info", "warn", "error", "silent"),
  }),
  bootId: setting({
    env: "MILLRACE_BOOT_ID",
    fallback: "",
    description: "for tests: pretend that the machine was booted with this id",
    parse: (text) => text,
  }),
  fault: setting({
    env: "MILLRACE_FAULT",
    fallback: "",
    description: "for tests: where to die or to wait, see faults.ts",
    parse: (text) => text,
  }),
};

type Values = { [K in keyof typeof settings]: ReturnType<(typeof settings)[K]["parse"]> };
type Source = "flag" | "environment" | "default";

export interface Config extends Values {
  /** What of the environment jobs may see: paths, proxies, certificates, package indexes. */
  readonly jobEnvironment: Readonly<Record<string, string>>;
  readonly sources: Readonly<Record<string, Source>>;
}

export function readConfig(
  flags: Record<string, string | undefined> = {},
  env: NodeJS.ProcessEnv = process.env,
): Config {
  const values: Record<string, unknown> = {};
  const sources: Record<string, Source> = {};
  for (const [name, definition] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const flag = definition.flag === undefined ? undefined : flags[definition.flag];
    const fromEnv = env[definition.env] || undefined;
    sources[name] = flag !== undefined ? "flag" : fromEnv !== undefined ? "environment" : "default";
    const text = flag ?? fromEnv ?? definition.fallback;
    try {
      values[name] = definition.parse(text);
    } catch (error) {
      const where = sources[name] === "flag" ? `--${definition.flag}` : definition.env;
      throw new Error(`${where}: ${(error as Error).message}, got ${JSON.stringify(definition.secret ? "…" : text)}`);
    }
  }
  return { ...(values as Values), jobEnvironment: jobEnvironment(env), sources };
}

export interface ConfigRow {
  name: string;
  env: string;
  flag: string | null;
  value: string;
  source: Source;
  description: string;
}

export function configRows(config: Config): ConfigRow[] {
  return (Object.entries(settings) as [keyof Values, Setting<unknown>][]).map(([name, definition]) => ({
    name,
    env: definition.env,
    flag: definition.flag ?? null,
    value: definition.secret && config[name] ? "(set)" : shown(config[name]),
    source: config.sources[name] ?? "default",
    description: definition.description,
  }));
}

const shown = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** Names only, never a wildcard over everything: the server's own settings and secrets stay out of jobs. */
const passedToJobs =
  /^(PATH|LANG|LC_ALL|TZ|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|NODE_EXTRA_CA_CERTS|AWS_CA_BUNDLE|(HTTPS?|ALL|NO|FTP)_PROXY|(https?|all|no|ftp)_proxy|PIP_[A-Z_]+|UV_[A-Z_]+)$/;

function jobEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => passedToJobs.test(entry[0]) && entry[1] !== undefined,
    ),
  );
}

function integer(low: number, high: number) {
  return (text: string) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < low || value > high)
      throw new Error(`expected a whole number from ${low} to ${high}`);
    return value;
  };
}

function choice<const T extends string>(...values: T[]) {
  return (text: string): T => {
    const found = values.find((value) => value === text.toLowerCase());
    if (!found) throw new Error(`expected one of ${values.join(", ")}`);
    return found;
  };
}

function bytes(text: string): number {
  const match = /^(\d+)\s*(B|KiB|MiB|GiB|TiB)?$/.exec(text);
  if (!match) throw new Error("expected a size such as 500MiB or 1GiB");
  const power = ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(match[2] ?? "B");
  return Number(match[1]) * 1024 ** power;
}

function databaseUrl(text: string): string {
  if (text && !/^postgres(ql)?:\/\//.test(text)) throw new Error("expected a postgres:// URL");
  return text;
}

function publicUrl(text: string): string {
  if (text && !(URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)))
    throw new Error("expected an http:// or https:// URL");
  return text.replace(/\/+$/, "");
}

function timezone(text: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new Error("expected an IANA time zone such as Europe/Berlin");
  }
}

interface JobPath {
  path: string;
  mode: "ro" | "rw";
}

function jobPaths(text: string): JobPath[] {
  return text
    .split(",")
    .filter((part) => part.trim() !== "")
    .map((part) => {
      const match = /^(\/.*?)(?::(ro|rw))?$/.exec(part.trim());
      if (!match?.[1]) throw new Error("expected absolute folders such as /data:ro,/scratch:rw");
      return { path: resolve(match[1]), mode: (match[2] as "ro" | "rw" | undefined) ?? "ro" };
    });
}
