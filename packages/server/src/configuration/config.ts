/** The only reader of the environment: one table of settings, validated once, printed by `millrace doctor`. */
import { isIP } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { resolve } from "node:path";
import { isTooOldLibrary, oldestLibrary } from "@millrace/contract";
import { defaultLibrary } from "../datachain/library.ts";

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
    description: "address to listen on; other than loopback only once an administrator has a password",
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
  blobs: setting({
    env: "MILLRACE_BLOBS",
    fallback: "",
    description:
      "storage URI for uploads, exports and logs of ended jobs, such as s3://BUCKET/PREFIX; credentials come from the environment, as AWS_ACCESS_KEY_ID; empty: the data folder",
    parse: storageUri,
  }),
  databaseTimeout: setting({
    env: "MILLRACE_DATABASE_TIMEOUT",
    fallback: "10",
    description:
      "seconds after which a PostgreSQL that does not answer counts as away: requests are then answered with 503",
    parse: integer(1, 600),
  }),
  secretKey: setting({
    env: "MILLRACE_SECRET_KEY",
    fallback: "",
    description:
      "key that encrypts secrets in the store: 32 bytes as base64 or hex; after commas, older keys that only decrypt",
    secret: true,
    parse: (text) => text.split(",").filter(Boolean).map(secretKey),
  }),
  secretKeyFile: setting({
    env: "MILLRACE_SECRET_KEY_FILE",
    fallback: "",
    description:
      "file of such keys, one a line, used without MILLRACE_SECRET_KEY; empty: secret.key in the data folder",
    parse: (text) => text && resolve(text),
  }),
  isolation: setting({
    env: "MILLRACE_ISOLATION",
    fallback: "auto",
    description: "what stands between a job and the machine: none, uid, bwrap, or auto for the strongest that works",
    parse: choice("auto", "none", "uid", "bwrap"),
  }),
  uv: setting({
    env: "MILLRACE_UV",
    fallback: "auto",
    description:
      "what builds virtualenvs: auto for uv, which is put into the data folder where the machine has none; machine for uv only where the machine has it; never for pip",
    parse: choice("auto", "machine", "never"),
  }),
  jobUsers: setting({
    env: "MILLRACE_JOB_UIDS",
    fallback: "61000-61999",
    description: "user ids that jobs run as when the server is root: nobody else may use them",
    parse: userRange,
  }),
  jobPaths: setting({
    env: "MILLRACE_JOB_PATHS",
    fallback: "",
    description: "host folders that jobs may use, as /data:ro,/scratch:rw; file:// repositories must lie below one",
    parse: jobPaths,
  }),
  jobSeconds: setting({
    env: "MILLRACE_JOB_SECONDS",
    fallback: "0",
    description: "longest time that a job may run, with the building of its environment; 0: no limit",
    parse: integer(0, 1_000_000_000),
  }),
  jobMemory: setting({
    env: "MILLRACE_JOB_MEMORY",
    fallback: "80%",
    description: "memory of a job, as a size or as a part of the machine's; 0: no limit",
    parse: memory,
  }),
  jobProcesses: setting({
    env: "MILLRACE_JOB_PROCESSES",
    fallback: "4096",
    description: "processes and threads of a job; 0: no limit",
    parse: integer(0, 4_194_304),
  }),
  jobOpenFiles: setting({
    env: "MILLRACE_JOB_OPEN_FILES",
    fallback: "65536",
    description: "files that a process of a job may have open; 0: as the server's own limit",
    parse: integer(0, 1_048_576),
  }),
  jobLog: setting({
    env: "MILLRACE_JOB_LOG",
    fallback: "20GiB",
    description: "largest log of a job, by its length; 0: no limit",
    parse: bytes,
  }),
  jobDisk: setting({
    env: "MILLRACE_JOB_DISK",
    fallback: "100GiB",
    description:
      "what a job may put on disk: in its working and temporary folders, and added to its team's warehouse; 0: no limit",
    parse: bytes,
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
  allowedHosts: setting({
    env: "MILLRACE_ALLOWED_HOSTS",
    fallback: "",
    description:
      "more names that callers may reach the server by, with commas between; checked on loopback, and where this or MILLRACE_PUBLIC_URL is set",
    parse: hostNames,
  }),
  trustProxy: setting({
    env: "MILLRACE_TRUST_PROXY",
    fallback: "",
    description:
      "proxies whose X-Forwarded-For is believed, for rate limits and the audit: addresses and networks such as 10.0.0.0/8, loopback, linklocal, uniquelocal, or a number of hops; empty: none",
    parse: trustProxy,
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
    description:
      "largest JSON body of a job, of pipeline settings, of credentials, of a dataset; others take 64 KiB or less",
    parse: bytes,
  }),
  requestSeconds: setting({
    env: "MILLRACE_REQUEST_SECONDS",
    fallback: "60",
    description:
      "seconds for a request to arrive whole; callers with a good token have as long for every 256 KiB of it",
    parse: integer(1, 86_400),
  }),
  addressConnections: setting({
    env: "MILLRACE_ADDRESS_CONNECTIONS",
    fallback: "1000",
    description:
      "connections of one address (on this machine: of one of its users) over which no good token or session was shown; those of trusted proxies are not counted",
    parse: integer(1, 1_000_000),
  }),
  reservedFiles: setting({
    env: "MILLRACE_RESERVED_FILES",
    fallback: "256",
    description:
      "open files of the server that connections leave to jobs and the store; each connection may take two of the rest",
    parse: integer(0, 1_000_000),
  }),
  unusedFileDays: setting({
    env: "MILLRACE_UNUSED_FILE_DAYS",
    fallback: "7",
    description: "days after which an uploaded file that no job took along is removed",
    parse: integer(1, 36_500),
  }),
  exportRows: setting({
    env: "MILLRACE_EXPORT_ROWS",
    fallback: "200000",
    description: "rows in one file of an export of a dataset, at most: wide rows go into smaller files",
    parse: integer(1, 10_000_000),
  }),
  exportHours: setting({
    env: "MILLRACE_EXPORT_HOURS",
    fallback: "24",
    description: "hours after which the files of an export are removed, and their URLs end",
    parse: integer(1, 8760),
  }),
  logDays: setting({
    env: "MILLRACE_LOG_DAYS",
    fallback: "90",
    description:
      "days after its end when a job's log and folder are removed, and long texts that nothing needs; 0 keeps them",
    parse: integer(0, 36_500),
  }),
  libraryVersion: setting({
    env: "MILLRACE_LIBRARY_VERSION",
    fallback: defaultLibrary,
    description: "version of the library datachain when neither the job nor the team pins one",
    parse: libraryVersion,
  }),
  warehouseCopies: setting({
    env: "MILLRACE_STORE_COPIES",
    fallback: "7",
    description: "daily copies of a team's warehouse that are kept; 0 makes none",
    parse: integer(0, 365),
  }),
  warehouseReplacedDays: setting({
    env: "MILLRACE_STORE_REPLACED_DAYS",
    fallback: "7",
    description:
      "days for which a team's warehouse is kept after a copy took its place (`millrace team restore-datasets`); 0 keeps it for ever",
    parse: integer(0, 3650),
  }),
  warehouseTidyHours: setting({
    env: "MILLRACE_STORE_TIDY_HOURS",
    fallback: "24",
    description: "hours between two collections of garbage in a team's warehouse, while none of its jobs run; 0 never",
    parse: integer(0, 8760),
  }),
  warehousePauseDays: setting({
    env: "MILLRACE_STORE_PAUSE_DAYS",
    fallback: "7",
    description: "after this many days without an idle moment, pause the team's jobs for garbage collection; 0 never",
    parse: integer(0, 365),
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
  teamTasks: setting({
    env: "MILLRACE_TEAM_TASKS",
    fallback: "1000",
    description: "tasks of one team that may wait, unless the team has a quota of its own; 0 for no limit",
    parse: integer(0, 1_000_000),
  }),
  teamSchedules: setting({
    env: "MILLRACE_TEAM_SCHEDULES",
    fallback: "1000",
    description: "schedules that one team may have, unless the team has a quota of its own; 0 for no limit",
    parse: integer(0, 1_000_000),
  }),
  teamDatasets: setting({
    env: "MILLRACE_TEAM_DATASETS",
    fallback: "500GiB",
    description: "largest warehouse of a team, on disk, unless the team has a quota of its own; 0 for no limit",
    parse: bytes,
  }),
  teamUploads: setting({
    env: "MILLRACE_TEAM_UPLOADS",
    fallback: "100GiB",
    description: "uploaded files of a team, on disk, unless the team has a quota of its own; 0 for no limit",
    parse: bytes,
  }),
  teamLogs: setting({
    env: "MILLRACE_TEAM_LOGS",
    fallback: "100GiB",
    description:
      "logs of a team's ended jobs, on disk, unless the team has a quota of its own: beyond it the oldest are removed; 0 for no limit",
    parse: bytes,
  }),
  teamTexts: setting({
    env: "MILLRACE_TEAM_TEXTS",
    fallback: "10GiB",
    description:
      "long texts of a team's jobs in the store (scripts, requirements, params), each counted once, unless the team has a quota of its own; 0 for no limit",
    parse: bytes,
  }),
  teamExports: setting({
    env: "MILLRACE_TEAM_EXPORTS",
    fallback: "200GiB",
    description: "files of a team's exports, on disk, unless the team has a quota of its own; 0 for no limit",
    parse: bytes,
  }),
  teamEnvironments: setting({
    env: "MILLRACE_TEAM_ENVIRONMENTS",
    fallback: "100GiB",
    description:
      "virtualenvs of a team, on disk, unless the team has a quota of its own: beyond it those go that no job has used for longest; 0 for no limit",
    parse: bytes,
  }),
  webhookNetworks: setting({
    env: "MILLRACE_WEBHOOK_NETWORKS",
    fallback: "",
    description:
      "private addresses and networks that webhooks may be sent to, such as 10.1.0.0/16,fd00::/8; none by default: only public addresses are reached",
    parse: networks,
  }),
  webhookSeconds: setting({
    env: "MILLRACE_WEBHOOK_SECONDS",
    fallback: "10",
    description: "seconds in which the receiver of a webhook must have answered",
    parse: integer(1, 300),
  }),
  webhookRetry: setting({
    env: "MILLRACE_WEBHOOK_RETRY",
    fallback: "10",
    description:
      "seconds after which a delivery that failed is tried again; three times as long after each further failure, 8 hours at most",
    parse: integer(1, 3600),
  }),
  deliveryDays: setting({
    env: "MILLRACE_DELIVERY_DAYS",
    fallback: "30",
    description: "days for which deliveries of webhooks and e-mails are kept after their end",
    parse: integer(1, 3650),
  }),
  smtpUrl: setting({
    env: "MILLRACE_SMTP_URL",
    fallback: "",
    description:
      "the mail server that sends notifications: smtp://USER:PASSWORD@HOST:587, or smtps://…:465; without it no e-mail is sent",
    secret: true,
    parse: smtpUrl,
  }),
  smtpFrom: setting({
    env: "MILLRACE_SMTP_FROM",
    fallback: "millrace@localhost",
    description: "the address that e-mails come from",
    parse: mailAddress,
  }),
  smtpSeconds: setting({
    env: "MILLRACE_SMTP_SECONDS",
    fallback: "60",
    description: "seconds in which the mail server must have taken an e-mail",
    parse: integer(1, 300),
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
    description:
      "sign-ins, device logins, and wrong links and codes a minute from one caller; a third as many wrong passwords are free of delays; 4 times as many bad tokens",
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
  /** Where the storage library looks for credentials and parameters. */
  readonly storageEnvironment: Readonly<Record<string, string | undefined>>;
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
  return { ...(values as Values), jobEnvironment: jobEnvironment(env), storageEnvironment: env, sources };
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
    value: definition.secret ? (isSet(config[name]) ? "(set)" : "") : shown(config[name]),
    source: config.sources[name] ?? "default",
    description: definition.description,
  }));
}

const isSet = (value: unknown) => (value as string | readonly unknown[]).length > 0;
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

function libraryVersion(text: string): string {
  if (!/^\d+\.\d+\.\d+$/.test(text)) throw new Error(`expected a version such as 0.62.0, got ${text}`);
  if (isTooOldLibrary(text)) throw new Error(`expected ${oldestLibrary} or newer, got ${text}`);
  return text;
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

function memory(text: string): number {
  const percent = /^(\d+)%$/.exec(text);
  return percent ? Math.floor((totalmem() * Number(percent[1])) / 100) : bytes(text);
}

interface UserRange {
  first: number;
  last: number;
}

function userRange(text: string): UserRange {
  const match = /^(\d+)-(\d+)$/.exec(text);
  const [first, last] = [Number(match?.[1]), Number(match?.[2])];
  // Root and the accounts of the system's own services are nobody's to give away.
  if (!match || first < 1000 || last < first || last > 4_294_967_294)
    throw new Error("expected a range of user ids such as 61000-61999");
  return { first, last };
}

/** 32 bytes as base64, with or without padding, or hex. */
export function secretKey(text: string): Buffer {
  const key = text.trim();
  const bytes = Buffer.from(key, /^[0-9a-fA-F]{64}$/.test(key) ? "hex" : "base64");
  if (bytes.length !== 32 || !/^[\w+/-]{43}=?$|^[0-9a-fA-F]{64}$/.test(key))
    throw new Error("expected keys of 32 bytes, each as base64 (43 or 44 characters) or hex (64)");
  return bytes;
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

function hostNames(text: string): string[] {
  const names = text.split(",").flatMap((name) => name.trim().toLowerCase() || []);
  if (names.some((name) => !/^[a-z0-9._-]+$/.test(name))) throw new Error("expected host names, without ports");
  return names;
}

const networkNames = ["loopback", "linklocal", "uniquelocal"];

/** A number of hops, or addresses, networks and names of networks. */
function trustProxy(text: string): number | string[] {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  const parts = text.split(",").flatMap((part) => part.trim() || []);
  for (const part of parts) {
    const [address = "", bits] = part.split("/");
    const longest = { 4: 32, 6: 128 }[isIP(address)];
    const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (longest ?? 0));
    if (!networkNames.includes(part) && !(longest && isNetwork))
      throw new Error(
        `expected addresses, networks such as 10.0.0.0/8, ${networkNames.join(", ")}, or a number of hops`,
      );
  }
  return parts;
}

/** Addresses and networks, without names. */
function networks(text: string): string[] {
  const parts = text.split(",").flatMap((part) => part.trim() || []);
  for (const part of parts) {
    const [address = "", bits, ...more] = part.split("/");
    const longest = { 4: 32, 6: 128 }[isIP(address)];
    const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (longest ?? 0));
    if (!longest || !isNetwork || more.length > 0)
      throw new Error("expected addresses and networks such as 10.1.0.0/16,fd00::/8");
  }
  return parts;
}

function storageUri(text: string): string {
  if (text && !/^[a-z][a-z0-9+.-]*:\/\/[^\s/]/.test(text)) throw new Error("expected a URI such as s3://BUCKET/PREFIX");
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]*:[^/]*@/.test(text))
    throw new Error("expected a URI without a password: give it in a variable of the environment");
  return text.replace(/\/+$/, "");
}

function smtpUrl(text: string): string {
  if (text && !(URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol) && new URL(text).hostname))
    throw new Error("expected an smtp:// or smtps:// URL");
  return text;
}

function mailAddress(text: string): string {
  if (!/^[^\r\n]*[^@\s]+@[^@\s]+$/.test(text)) throw new Error("expected an e-mail address");
  return text;
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
