/**
 * The table of all commands with their arguments and flags. Parsing, help, suggestions and shell completion are derived
 * from this table, so they cannot disagree. If the `datachain` client has the same command, the flags have the same
 * names and meanings.
 */

import type {
  BackfillFailurePolicy,
  CatchUpPolicy,
  DeliveryStatus,
  FollowPolicy,
  JobStatus,
  OverlapPolicy,
  PipelineStatus,
  Role,
  ToldEvent,
  WebhookFormat,
  WebhookMethod,
} from "@millrace/contract";

/** What shell completion offers for a value: file names, folder names, or the given words. */
export type Completion = "file" | "directory" | readonly string[];

export interface Flag {
  /**
   * A `list` flag takes several values (`--req a b`), a `texts` flag takes one value. Both kinds of flags may be
   * repeated.
   */
  readonly kind: "switch" | "text" | "integer" | "list" | "texts";
  readonly help: string;
  readonly short?: string;
  /** Placeholder for the value in the help text. */
  readonly value?: string;
  readonly min?: number;
  readonly max?: number;
  readonly complete?: Completion;
}

interface Argument {
  readonly help: string;
  readonly optional?: true;
  /** Name of a flag that can replace the argument. If this flag is not given, the argument is required. */
  readonly unless?: string;
  /** True if the argument takes all remaining words, at least one. Only the last argument can have this. */
  readonly many?: true;
  readonly complete?: Completion;
}

export interface Command {
  readonly summary: string;
  /** Text that `--help` shows below the summary. */
  readonly details?: string;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples?: readonly string[];
}

/** First words of two-word commands, with their summaries. */
export const groups = {
  auth: "Sign in and out, and choose a team",
  admin: "Create tokens, sign-in links and passwords, and rotate keys, on the server's own machine",
  user: "Show and change users: yourself, or, as an administrator, anybody",
  team: "Show and change teams: members, roles, invitations, quotas",
  token: "Create, list and revoke tokens",
  job: "Run jobs, follow their logs, list and cancel them",
  task: "Show, change, pause and remove tasks: jobs with a cron expression or a start time",
  dataset: "Show, change and remove datasets; show their versions and lineage",
  pipeline: "Rebuild datasets by rerunning the jobs that created them, in order",
  schedule: "Run pipelines repeatedly, on a schedule",
  backfill: "Show, cancel and retry runs of pipelines for past dates",
  webhook: "Send events of jobs, pipelines and schedules to URLs",
  notify: "Send events of jobs, pipelines and schedules by e-mail",
  cluster: "Add, change, test, drain and remove the clusters that jobs run on, as an administrator",
  credentials: "Manage sets of variables for jobs, such as the keys of a storage",
  storage: "List, read, copy and remove files, on this machine and in object stores",
} as const;

/** Flags that every command takes. */
export const commonFlags = {
  help: { kind: "switch", short: "h", help: "Show this help" },
  quiet: { kind: "switch", short: "q", help: "Print only results and errors" },
  verbose: { kind: "switch", short: "v", help: "Print the stack trace of an error" },
} as const satisfies Record<string, Flag>;

const team = { kind: "text", value: "NAME", help: "Team (default: from the settings)" } as const;
const url = {
  kind: "text",
  value: "URL",
  help: "Server (default: from the settings, or http://127.0.0.1:8484)",
} as const;
const connection = { team, url } as const;
const json = { kind: "switch", help: "Print JSON" } as const;
const local = { kind: "switch", help: "Use the project's settings (.datachain/config) instead of the user's" } as const;
const own = { kind: "switch", help: "Use your own set, for your jobs only, instead of the team's" } as const;
const dataset = {
  NAME: { help: "Short or full name of the dataset, optionally with @1.2.3 (default: the newest version)" },
} as const;
const cluster = { NAME: { help: "Name of the cluster" } } as const;
const clusterSettings = {
  "max-workers": { kind: "integer", value: "N", min: 1, max: 100_000, help: "Slots that jobs may occupy at a time" },
  option: { kind: "texts", value: "KEY=VALUE", help: "Option of the engine; may be repeated" },
  secret: { kind: "texts", value: "KEY=@FILE", help: "Secret of the engine, read from a file; may be repeated" },
  for: { kind: "texts", value: "TEAM", help: "Team that may use the cluster; may be repeated; all: every team" },
  "default-of": {
    kind: "texts",
    value: "TEAM",
    help: "Team whose jobs run here if they name no cluster; may be repeated; none: no team",
  },
  default: { kind: "switch", help: "Run the jobs of all teams here if they name no cluster" },
  "share-unisolated": {
    kind: "switch",
    help: "Let several teams use the cluster although its engine does not isolate their jobs",
  },
} as const satisfies Record<string, Flag>;
const includeRemoved = { kind: "switch", help: "Include removed versions" } as const;
const jobId = { ID: { help: "Job id, or its beginning or end (6 characters or more)" } } as const;

const roleWords = ["viewer", "editor", "admin"] as const satisfies readonly Role[];
const role = { kind: "text", value: "ROLE", complete: roleWords, help: "viewer, editor or admin" } as const;
const user = { USER: { help: "User name" } } as const;
const person = {
  "first-name": { kind: "text", value: "NAME", help: "First name" },
  "last-name": { kind: "text", value: "NAME", help: "Last name" },
  email: { kind: "text", value: "ADDRESS", help: "E-mail address; --email= removes it" },
  timezone: { kind: "text", value: "ZONE", help: "Time zone for showing times; --timezone= removes it" },
} as const satisfies Record<string, Flag>;
const quotas = {
  "max-running": {
    kind: "integer",
    value: "N",
    min: 0,
    max: 1_000_000,
    help: "Maximum number of running jobs; 0: the server's default",
  },
  "max-queued": {
    kind: "integer",
    value: "N",
    min: 0,
    max: 1_000_000,
    help: "Maximum number of queued jobs; 0: the server's default",
  },
  "max-tasks": {
    kind: "integer",
    value: "N",
    min: 0,
    max: 1_000_000,
    help: "Maximum number of tasks; 0: the server's default",
  },
  "max-schedules": {
    kind: "integer",
    value: "N",
    min: 0,
    max: 1_000_000,
    help: "Maximum number of schedules; 0: the server's default",
  },
  "max-datasets": {
    kind: "text",
    value: "SIZE",
    help: "Maximum size of the datasets on disk, such as 200GiB; 0: the server's default",
  },
  "max-uploads": { kind: "text", value: "SIZE", help: "Maximum size of uploads on disk; 0: the server's default" },
  "max-texts": {
    kind: "text",
    value: "SIZE",
    help: "Maximum size of jobs' long texts in the database; 0: the server's default",
  },
  "max-exports": { kind: "text", value: "SIZE", help: "Maximum size of exports on disk; 0: the server's default" },
  "max-environments": {
    kind: "text",
    value: "SIZE",
    help: "Maximum size of jobs' Python environments on disk; 0: the server's default",
  },
  "max-logs": {
    kind: "text",
    value: "SIZE",
    help: "Maximum size of ended jobs' logs on disk; 0: the server's default",
  },
} as const satisfies Record<string, Flag>;
const secretInput = "The password is prompted for without echo, or read from standard input; it is never an argument.";

const storageUri = { URI: { help: "URI such as s3://bucket/path, or a local path", complete: "file" } } as const;
const clientConfig = {
  kind: "text",
  value: "JSON",
  help: "Parameters of the storage: JSON, @FILE for JSON in a file, or @- for JSON on standard input",
} as const;
const recursive = { kind: "switch", short: "r", help: "Include everything below the folder" } as const;
const yes = {
  kind: "switch",
  short: "y",
  help: "Do not ask for confirmation; required if there is no terminal",
} as const;
const yesOnTerminal = {
  kind: "switch",
  short: "y",
  help: "Do not ask for confirmation; not needed if there is no terminal",
} as const;
const asksFirst = {
  "dry-run": { kind: "switch", short: "n", help: "Show what would be done, but do nothing" },
  yes,
} as const satisfies Record<string, Flag>;
const leaving = {
  "transfer-to": {
    kind: "text",
    value: "USER",
    help: "New owner of the user's schedules, tasks and pipelines, such as the team's service account",
  },
  ...asksFirst,
} as const satisfies Record<string, Flag>;
const leavingDetails =
  "Shows the work that runs as this user. If schedules, tasks or pipelines would stop or change owner, asks first on\n" +
  "a terminal and requires --yes elsewhere. Running jobs continue. You can transfer the work to yourself or to the\n" +
  "team's service account; administrators of the server can choose anybody.";
const owner = {
  kind: "text",
  value: "USER",
  help: "New owner: you, or the team's service account; all runs get the rights of the owner",
} as const;
const force = {
  kind: "switch",
  help: "Change the owner even if the new owner lacks credentials that the runs need",
} as const;
const fromAndTo = {
  FROM: { help: "Source: a URI or a local path", complete: "file" },
  TO: { help: "Target: a URI or a local path", complete: "file" },
} as const;
const bothConfigs = {
  "client-config": { ...clientConfig, help: "Parameters of FROM and TO (local files take none): JSON, @FILE, or @-" },
  "to-client-config": { ...clientConfig, help: "Parameters of TO, if they differ from FROM's" },
} as const satisfies Record<string, Flag>;

/** Words that shell completion offers for `--status`. The server accepts more words. */
const statusWords = [
  "ACTIVE",
  "INACTIVE",
  "QUEUED",
  "RUNNING",
  "COMPLETE",
  "FAILED",
  "CANCELED",
  "TASK",
] as const satisfies readonly (JobStatus | "ACTIVE" | "INACTIVE")[];

const pipelineStatusWords = [
  "RUNNING",
  "PAUSED",
  "COMPLETED",
  "FAILED",
  "CANCELED",
] as const satisfies readonly PipelineStatus[];

const watchFlag = { kind: "switch", short: "w", help: "Watch the pipeline until it ends" } as const;
const pipelineName = { NAME: { help: "Name of the pipeline" } } as const;
const pipelineJob = {
  ...pipelineName,
  ID: {
    help: "Name, job id or original job id of the run (see `millrace pipeline status`), or the beginning or end of an id",
  },
} as const;

const taskName = { TASK: { help: "Name or id of the task, or the beginning or end of the id" } } as const;
const scheduleName = { SCHEDULE: { help: "Name or id of the schedule" } } as const;
const overlapWords = ["skip", "wait", "allow"] as const satisfies readonly OverlapPolicy[];
const catchUpWords = ["one", "none", "all"] as const satisfies readonly CatchUpPolicy[];
const followWords = ["none", "latest"] as const satisfies readonly FollowPolicy[];
const scheduleFlags = {
  cron: { kind: "text", value: "EXPRESSION", help: "Fire repeatedly: five fields, or @hourly, @daily, ..." },
  "start-time": {
    kind: "text",
    value: "TIME",
    help: "First firing (without --cron, the only one): 2026-01-31T09:00, 'in 2 hours', 'tomorrow 9am'",
  },
  timezone: { kind: "text", value: "ZONE", help: "Time zone of the cron expression (default: UTC)" },
  "on-dataset": {
    kind: "text",
    value: "DATASET",
    help: "Fire when this dataset gets a new version; can be combined with --cron",
  },
  "quiet-for": {
    kind: "text",
    value: "TIME",
    help: "Wait until the dataset has had no new version for this time: 90s, 10m, 2h (default: 60s)",
  },
  overlap: {
    kind: "text",
    value: "POLICY",
    complete: overlapWords,
    help: "If the previous run is still active: skip the new run (default), wait, or allow both",
  },
  "catch-up": {
    kind: "text",
    value: "POLICY",
    complete: catchUpWords,
    help: "Firings missed while no server ran: one run for all of them (default), none, or all",
  },
  follow: {
    kind: "text",
    value: "POLICY",
    complete: followWords,
    help: "none (default) keeps the current scripts; latest updates the scripts at each firing",
  },
} as const satisfies Record<string, Flag>;

const backfillId = { ID: { help: "Number of the backfill (see `millrace backfill ls`)" } } as const;
const failureWords = ["stop", "continue"] as const satisfies readonly BackfillFailurePolicy[];
const everyWords = ["hour", "day", "week", "month"] as const;
const webhookId = { ID: { help: "Id of the webhook (see `millrace webhook ls`)" } } as const;
const eventWords = [
  "job.failure",
  "job.recovery",
  "pipeline.failure",
  "pipeline.recovery",
  "schedule.failure",
  "schedule.recovery",
  "schedule.skip",
  "schedule.overdue",
] as const satisfies readonly ToldEvent[];
const eventFlag = {
  kind: "list",
  value: "EVENT",
  complete: eventWords,
  help: "Events to send, such as job.failure or schedule.skip; docs/notifications.md lists all",
} as const;
const enabling = {
  enable: { kind: "switch", help: "Send the waiting deliveries, and new ones from now on" },
  disable: { kind: "switch", help: "Send nothing until --enable" },
} as const satisfies Record<string, Flag>;
const deliveryWords = ["pending", "delivered", "failed"] as const satisfies readonly DeliveryStatus[];
const webhookFlags = {
  event: eventFlag,
  "job-status": { kind: "list", value: "STATUS", help: "Job states to send, such as COMPLETE FAILED" },
  format: {
    kind: "text",
    value: "FORMAT",
    complete: ["json", "form", "slack"] as const satisfies readonly WebhookFormat[],
    help: "json (default), form (the JSON in the field payload), or slack (a text message)",
  },
  method: {
    kind: "text",
    value: "METHOD",
    complete: ["POST", "PUT", "PATCH"] as const satisfies readonly WebhookMethod[],
    help: "POST (default), PUT or PATCH",
  },
  "secret-file": {
    kind: "text",
    value: "FILE",
    complete: "file",
    help: "File with the secret that signs requests; - for standard input",
  },
} as const satisfies Record<string, Flag>;

const serverFlags = {
  host: { kind: "text", value: "ADDRESS", help: "Address to listen on (default: 127.0.0.1)" },
  port: { kind: "text", value: "PORT", help: "Port to listen on (default: 8484)" },
  "data-dir": {
    kind: "text",
    value: "DIR",
    complete: "directory",
    help: "Data folder: database, logs and files (default: ./.millrace)",
  },
  "database-url": { kind: "text", value: "URL", help: "PostgreSQL database to use instead of the embedded SQLite" },
} as const satisfies Record<string, Flag>;

const paramsFlag = {
  kind: "list",
  value: "NAME=VALUE",
  help: "Parameters that the script reads with param(), or a JSON object",
} as const;

/** Flags for time limit and retries, shared by the commands for jobs and for pipeline settings. */
const retryFlags = {
  timeout: { kind: "text", value: "TIME", help: "Time limit of an attempt, such as 10m; 0: no limit" },
  retries: { kind: "integer", value: "N", min: 0, max: 20, help: "Number of retries after a failure" },
  "retry-delay": {
    kind: "text",
    value: "TIME",
    help: "Delay before the first retry (default: 30s); it doubles with each retry",
  },
} as const satisfies Record<string, Flag>;

const followFlags = {
  "no-wait": { kind: "switch", help: "Do not wait for the job to finish; print its id" },
  "no-follow": { kind: "switch", help: "Wait, but do not print the log" },
  json: { kind: "switch", help: "Print the job as JSON at the end, instead of its log" },
} as const satisfies Record<string, Flag>;

const pipelineList = {
  summary: "List pipelines, newest first",
  arguments: {},
  flags: {
    ...connection,
    status: {
      kind: "text",
      short: "s",
      value: "STATUS",
      complete: pipelineStatusWords,
      help: "Only pipelines in this state, or in one of several states separated by commas",
    },
    search: {
      kind: "text",
      short: "S",
      value: "TEXT",
      help: "Only pipelines with this text in their name or in the name of a dataset",
    },
    limit: {
      kind: "integer",
      short: "l",
      value: "N",
      min: 1,
      max: 1000,
      help: "Maximum number of pipelines (default: 20)",
    },
    json,
  },
} as const satisfies Command;

export const commands = {
  serve: {
    summary: "Start the server",
    arguments: {},
    flags: serverFlags,
    examples: ["millrace serve", "millrace serve --port 9000 --data-dir /srv/millrace"],
  },
  "auth login": {
    summary: "Sign in: confirm a code in a browser, or with `millrace auth approve`",
    details:
      "The token is stored in the settings of the datachain client, so signing in once is enough for both programs.",
    arguments: {},
    flags: {
      url,
      hostname: { kind: "text", short: "H", value: "URL", help: "The same as --url" },
      scopes: { kind: "text", short: "s", value: "SCOPES", help: "Comma-separated scopes of the token (default: all)" },
      name: { kind: "text", short: "n", value: "NAME", help: "Name of the token (default: chosen by the server)" },
      "no-open": { kind: "switch", help: "Do not open a browser" },
      local,
      team: {
        kind: "list",
        value: "NAME",
        help: "Limit the token to these teams; a single team also becomes the default team",
      },
      "expires-in": {
        kind: "integer",
        value: "DAYS",
        min: 1,
        max: 3650,
        help: "Days until the token expires (default: 365)",
      },
    },
    examples: ["millrace auth login", "millrace auth login --url https://millrace.example.com --no-open"],
  },
  "auth logout": { summary: "Sign out: revoke the token and forget it", arguments: {}, flags: { url, local } },
  "auth token": { summary: "Print the token", arguments: {}, flags: {} },
  "auth team": {
    summary: "Show the default team, or set it",
    arguments: { NAME: { optional: true, help: "Team to use from now on" } },
    flags: { local },
  },
  "auth status": {
    summary: "Show your user, server, team and token",
    details:
      "Also shows the source of each setting. Exit codes: 0 if you are signed in, 4 if not or if the token does not work.",
    arguments: {},
    flags: { ...connection, json },
  },
  "auth approve": {
    summary: "Approve a pending device login as yourself",
    arguments: { CODE: { help: "The code that the other machine shows" } },
    flags: { url },
  },
  "auth deny": {
    summary: "Deny a pending device login",
    arguments: { CODE: { help: "The code that the other machine shows" } },
    flags: { url },
  },
  "admin token": {
    summary: "Print a new token; works directly on the database, with or without a running server",
    arguments: {},
    flags: {
      user: { kind: "text", value: "NAME", help: "Owner of the token (default: admin)" },
      team: { kind: "text", value: "NAME", help: "Limit the token to this team" },
      scopes: { kind: "text", value: "SCOPES", help: "Comma-separated, such as JOB,DATASETS:read (default: all)" },
      "expires-in": { kind: "integer", value: "DAYS", min: 1, max: 3650, help: "Days until the token expires" },
      ...serverFlags,
    },
    examples: ["export DATACHAIN_STUDIO_TOKEN=$(millrace admin token --team main)"],
  },
  "admin link": {
    summary: "Print a new one-use sign-in link for the browser",
    arguments: {},
    flags: {
      user: { kind: "text", value: "NAME", help: "User whom the link signs in (default: admin)" },
      ...serverFlags,
    },
  },
  "admin rotate-key": {
    summary: "Encrypt all secrets with a new key; works directly on the database, with or without a running server",
    details:
      "Adds a new key to the key file, re-encrypts everything, and removes the old key once nothing uses it. If interrupted,\n" +
      "run the command again to finish. With MILLRACE_SECRET_KEY, put the new key in front of the old one yourself, restart\n" +
      "the server, then run this command.",
    arguments: {},
    flags: { json, ...serverFlags },
  },
  "admin password": {
    summary: "Set a password; works directly on the database, with or without a running server",
    details: `${secretInput}\nEnds the user's browser sessions. A server that other machines can reach needs an administrator with a password.`,
    arguments: {},
    flags: {
      user: { kind: "text", value: "NAME", help: "User whose password is set (default: admin)" },
      ...serverFlags,
    },
    examples: ["millrace admin password", "millrace admin password --user alice < password-file"],
  },
  "user add": {
    summary: "Create a user",
    details: `Without --password the user signs in with a link (millrace admin link --user NAME).\n${secretInput}`,
    arguments: { USER: { help: "Name of the new user: lower-case letters, digits, hyphens, underscores" } },
    flags: {
      ...person,
      admin: { kind: "switch", help: "Make the user an administrator of the server" },
      password: { kind: "switch", help: "Set a password" },
      url,
      json,
    },
    examples: ["millrace user add alice --first-name Alice --password"],
  },
  "user ls": { summary: "List users", arguments: {}, flags: { url, json } },
  "user show": {
    summary: "Show yourself, or another user",
    arguments: { USER: { optional: true, help: "User name (default: you)" } },
    flags: { url, json },
  },
  "user set": {
    summary: "Change the names, e-mail address and time zone of yourself or another user",
    arguments: { USER: { optional: true, help: "User name (default: you)" } },
    flags: {
      ...person,
      admin: { kind: "switch", help: "Make the user an administrator of the server" },
      "no-admin": { kind: "switch", help: "Remove the administrator role; the last administrator keeps it" },
      url,
      json,
    },
  },
  "user disable": {
    summary: "Disable a user: tokens, sessions and the password stop working at once",
    details: leavingDetails,
    arguments: user,
    flags: { ...leaving, url },
    examples: ["millrace user disable alice --dry-run", "millrace user disable alice --transfer-to bob"],
  },
  "user enable": {
    summary: "Enable a user again; tokens that were not revoked work again",
    arguments: user,
    flags: { url },
  },
  "user passwd": {
    summary: "Change your password, or, as an administrator, another user's",
    details: `${secretInput}\nStandard input: first the current password (only if you change your own and have one), then the new one on a new line.\nEnds the user's browser sessions.`,
    arguments: { USER: { optional: true, help: "User name (default: you)" } },
    flags: { url },
  },
  "team add": {
    summary: "Create a team",
    arguments: { NAME: { help: "Name of the new team: lower-case letters, digits, hyphens, underscores" } },
    flags: {
      admin: { kind: "text", value: "USER", help: "First admin of the team (default: you)" },
      ...quotas,
      url,
      json,
    },
  },
  "team ls": { summary: "List your teams; administrators of the server see all", arguments: {}, flags: { url, json } },
  "team show": { summary: "Show a team", arguments: {}, flags: { ...connection, json } },
  "team usage": {
    summary: "Show how much storage a team uses, and its quotas",
    arguments: {},
    flags: { ...connection, json },
  },
  "team set": {
    summary: "Rename a team or set defaults for its jobs; administrators also set its quotas",
    details:
      "After a rename, update settings and scripts that name the team; links to its jobs change. If --max-logs is below\n" +
      "the current size, the oldest logs are removed: asks first on a terminal, requires --yes elsewhere.",
    arguments: {},
    flags: {
      name: { kind: "text", value: "NAME", help: "New name" },
      "library-version": {
        kind: "text",
        value: "VERSION",
        help: "Default datachain version of the team's jobs; empty: the server's default",
      },
      "job-timeout": {
        ...retryFlags.timeout,
        help: "Default time limit of an attempt; 0: no limit",
      },
      "job-retries": { ...retryFlags.retries, help: "Default number of retries after a failure" },
      "job-retry-delay": {
        ...retryFlags["retry-delay"],
        help: "Default delay before the first retry (default: 30s)",
      },
      ...quotas,
      yes,
      ...connection,
      json,
    },
  },
  "team members": { summary: "List the members of a team", arguments: {}, flags: { ...connection, json } },
  "team add-member": {
    summary: "Add a user to a team",
    arguments: user,
    flags: { role: { ...role, help: "viewer, editor or admin (default: editor)" }, ...connection, json },
  },
  "team set-role": {
    summary: "Change the role of a member, from their next request on",
    arguments: { ...user, ROLE: { help: "viewer, editor or admin", complete: roleWords } },
    flags: { ...connection, json },
  },
  "team remove-member": {
    summary: "Remove a member from a team",
    details: leavingDetails,
    arguments: user,
    flags: { ...leaving, ...connection },
  },
  "team add-service-account": {
    summary: "Create the team's service account: a user that is not a person and can own schedules and tasks",
    details: "The account has no password, and nobody can sign in as it. A team has at most one.",
    arguments: {},
    flags: {
      name: { kind: "text", value: "NAME", help: "User name (default: TEAM-service)" },
      role: { kind: "text", value: "ROLE", complete: ["viewer", "editor"], help: "viewer or editor (default: editor)" },
      ...connection,
      json,
    },
  },
  "team service-tokens": {
    summary: "List the tokens of the team's service account",
    arguments: {},
    flags: { ...connection, json },
  },
  "team create-service-token": {
    summary: "Print a new token of the team's service account",
    arguments: { NAME: { help: "Name of the token" } },
    flags: {
      scopes: { kind: "text", value: "SCOPES", help: "Comma-separated scopes (default: yours, without ADMIN)" },
      "expires-in": { kind: "integer", value: "DAYS", min: 1, max: 3650, help: "Days until the token expires" },
      ...connection,
      json,
    },
  },
  "team revoke-service-token": {
    summary: "Revoke a token of the team's service account",
    arguments: { ID: { help: "Id of the token (see `millrace team service-tokens`)" } },
    flags: connection,
  },
  "team invite": {
    summary: "Print a link that lets one person into a team",
    arguments: {},
    flags: {
      role: { ...role, help: "viewer, editor or admin (default: editor)" },
      email: { kind: "text", value: "ADDRESS", help: "Address of the invited person, as a note; nothing is sent" },
      "expires-in": {
        kind: "integer",
        value: "DAYS",
        min: 1,
        max: 3650,
        help: "Days until the link expires (default: 7)",
      },
      ...connection,
      json,
    },
  },
  "team invitations": {
    summary: "List the invitations that can still be used",
    arguments: {},
    flags: { ...connection, json },
  },
  "team revoke-invitation": {
    summary: "Revoke an invitation",
    arguments: { ID: { help: "Id of the invitation (see `millrace team invitations`)" } },
    flags: connection,
  },
  "team dataset-copies": {
    summary: "List the copies of a team's datasets: daily copies, and datasets that a restore replaced",
    arguments: {},
    flags: { ...connection, json },
  },
  "team restore-datasets": {
    summary: "Restore a copy of a team's datasets",
    details:
      "Use this after a script has damaged the datasets. No job of the team may be running; versions newer than the copy\n" +
      "are lost. Lists these versions, then asks on a terminal and requires --yes elsewhere. The replaced datasets are\n" +
      "kept, by default for a week: `millrace team dataset-copies` lists them, and --copy restores them.",
    arguments: {},
    flags: {
      copy: {
        kind: "text",
        value: "TIME",
        help: "Time of the copy, see `millrace team dataset-copies` (default: the newest daily copy)",
      },
      ...asksFirst,
      ...connection,
      json,
    },
  },
  "token create": {
    summary: "Print a new token for yourself; it cannot have more rights than your current token",
    arguments: { NAME: { help: "Name of the token" } },
    flags: {
      scopes: {
        kind: "text",
        value: "SCOPES",
        help: "Comma-separated scopes, such as JOB,DATASETS:read (default: yours)",
      },
      team: { kind: "list", value: "NAME", help: "Limit the token to these teams (default: all of yours)" },
      "expires-in": {
        kind: "integer",
        value: "DAYS",
        min: 1,
        max: 3650,
        help: "Days until the token expires (default: never)",
      },
      url,
      json,
    },
    examples: ["millrace token create nightly --scopes JOB --team main --expires-in 90"],
  },
  "token ls": {
    summary: "List your valid tokens",
    arguments: {},
    flags: {
      user: { kind: "text", value: "USER", help: "Tokens of this user (administrators only)" },
      all: { kind: "switch", help: "Tokens of all users (administrators only)" },
      url,
      json,
    },
  },
  "token revoke": {
    summary: "Revoke a token; administrators of the server can revoke any token",
    details: "Asks for confirmation on a terminal.",
    arguments: { ID: { help: "Id of the token (see `millrace token ls`)" } },
    flags: { yes: yesOnTerminal, url },
  },
  audit: {
    summary: "Show who changed what, newest first",
    details: "Administrators of the server see all changes; admins of a team see the changes in their team.",
    arguments: {},
    flags: {
      team: { kind: "text", value: "NAME", help: "Only changes in this team" },
      user: { kind: "text", value: "USER", help: "Only changes by this user" },
      action: {
        kind: "text",
        value: "ACTION",
        help: "Only this action, such as user.create, or all actions on one kind of object, such as user or job",
      },
      limit: { kind: "integer", value: "N", min: 1, max: 1000, help: "Maximum number of entries (default: 50)" },
      before: { kind: "integer", value: "ID", min: 1, help: "Only entries older than this one" },
      url,
      json,
    },
    examples: ["millrace audit --action session.refuse", "millrace audit --team main --limit 200 --json"],
  },
  "job run": {
    summary: "Run a file as a job and follow it",
    details:
      "A .py file runs in Python, any other file in a shell or in the interpreter that its first line (#!) names. A script\n" +
      "from standard input (-) is Python unless its first line or the suffix of --name says otherwise. Exit codes:\n" +
      "0 complete, 1 failed, 2 canceled, 4 sign-in needed. Ctrl-C stops following; the job continues. With --start-time\n" +
      "or --cron, the job becomes a task that starts later.",
    arguments: {
      FILE: {
        optional: true,
        unless: "script",
        help: "The script to run; - reads it from standard input",
        complete: "file",
      },
    },
    flags: {
      ...connection,
      "env-file": { kind: "text", value: "FILE", complete: "file", help: "File with NAME=VALUE lines" },
      env: { kind: "list", value: "NAME=VALUE", help: "Environment variables of the job" },
      params: paramsFlag,
      name: { kind: "text", value: "NAME", help: "Name of the job and of its script (default: the name of FILE)" },
      cluster: { kind: "text", value: "NAME", help: "Compute cluster to run on" },
      "credentials-name": {
        kind: "texts",
        short: "c",
        value: "NAME",
        help: "Credentials for the job; repeat for several sets (default: the team's default; '': none)",
      },
      workers: { kind: "integer", value: "N", min: 0, help: "Slots of the cluster that the job occupies" },
      files: { kind: "list", value: "FILE", complete: "file", help: "Files to upload into the job's folder" },
      "python-version": { kind: "text", value: "X.Y", help: "Python version, such as 3.12" },
      repository: { kind: "text", value: "URL", help: "Git repository to clone first, optionally with @revision" },
      script: {
        kind: "text",
        value: "PATH",
        help: "Script in the repository, read at each start, instead of FILE",
      },
      "req-file": { kind: "text", value: "FILE", complete: "file", help: "Python requirements file" },
      req: { kind: "list", value: "PACKAGE", help: "Python packages to install" },
      priority: { kind: "integer", value: "N", min: 0, max: 5, help: "0 runs first, 5 last (default: 5)" },
      tag: { kind: "list", value: "TAG", help: "Tags to find the job by" },
      "start-time": {
        kind: "text",
        value: "TIME",
        help: "When to start: 2026-01-31T09:00, 'in 2 hours', 'tomorrow 9am', 'monday 18:30'",
      },
      cron: { kind: "text", value: "EXPRESSION", help: "Start repeatedly: five fields, or @hourly, @daily, ..." },
      timezone: { kind: "text", value: "ZONE", help: "Time zone of the cron expression (default: UTC)" },
      "ignore-checkpoints": { kind: "switch", help: "Start from scratch, not from checkpoints" },
      ...retryFlags,
      ...followFlags,
    },
    examples: [
      "millrace job run query.py --req pandas pyarrow --env DEBUG=1",
      "millrace job run nightly.sh --cron '0 3 * * *'",
      "millrace job run etl.py -c aws -c git --params day=2026-01-31 limit=10",
      "millrace job run fetch.py --timeout 10m --retries 3",
      "echo 'print(1 + 1)' | millrace job run -",
      "millrace job run --repository https://git.example/team/etl.git@main --script etl/report.py",
    ],
  },
  "job ls": {
    summary: "List jobs, newest first",
    arguments: {},
    flags: {
      ...connection,
      status: {
        kind: "text",
        value: "STATUS",
        complete: statusWords,
        help: "Only jobs in this state; ACTIVE and INACTIVE include several states",
      },
      name: { kind: "text", value: "NAME", help: "Only jobs with this name" },
      search: { kind: "text", value: "TEXT", help: "Only jobs with this text in the name or in the script" },
      tag: { kind: "list", value: "TAG", help: "Only jobs with all of these tags" },
      "created-by": { kind: "text", value: "USER", help: "Only jobs of this user" },
      since: {
        kind: "text",
        value: "TIME",
        help: "Only jobs created since this time: 2026-01-31T09:00, '2 hours ago', today",
      },
      until: { kind: "text", value: "TIME", help: "Only jobs created before this time" },
      cluster: { kind: "text", value: "NAME", help: "Only jobs of this cluster" },
      parent: { kind: "text", value: "ID", help: "Only jobs that this task started" },
      limit: { kind: "integer", value: "N", min: 1, max: 1000, help: "Maximum number of jobs (default: 20)" },
      extended: { kind: "switch", short: "e", help: "Also show the cluster and how long each stage took" },
      json,
    },
    examples: [
      "millrace job ls --status active",
      "millrace job ls --search train --tag nightly",
      "millrace job ls --json --limit 100",
    ],
  },
  "job logs": {
    summary: "Print the log of a job and follow it until the job ends",
    details: "Exit codes as for `millrace job run`. Ctrl-C stops following; the job continues.",
    arguments: jobId,
    flags: {
      ...connection,
      "no-follow": { kind: "switch", help: "Print the current log, byte for byte, and stop" },
      tail: { kind: "integer", value: "N", min: 0, help: "Start with the last N lines" },
      attempt: {
        kind: "integer",
        value: "N",
        min: 1,
        help: "Print only the log of attempt N so far, and stop; `millrace job show` lists the attempts",
      },
    },
  },
  "job show": {
    summary: "Show everything about a job: settings, stages, result",
    arguments: jobId,
    flags: { ...connection, json },
  },
  "job why": {
    summary: "Explain why a job waits: its place in the queue, what holds the slots, and other reasons",
    arguments: jobId,
    flags: { ...connection, json },
  },
  "job usage": {
    summary: "Show the CPU and memory usage of a job, during the run and after it",
    details: "Samples are taken every second at first, and less often the longer the job runs.",
    arguments: jobId,
    flags: { ...connection, json },
  },
  "job cancel": {
    summary: "Cancel a waiting or running job, or stop a task",
    arguments: jobId,
    flags: connection,
  },
  "job hand-over": {
    summary: "Transfer a task to another user; its jobs then run with that user's rights and credentials",
    details:
      "You can transfer the task to yourself or, as an admin of the team, to its service account;\nadministrators of the server can choose anybody.",
    arguments: { ...jobId, USER: { help: "New owner" } },
    flags: { force, ...connection },
  },
  "job rerun": {
    summary: "Run a job again with the same settings, and follow it",
    details: "Continues from the first run's checkpoints, if there are any. Exit codes as for `millrace job run`.",
    arguments: jobId,
    flags: {
      ...connection,
      params: { ...paramsFlag, help: "Parameters as for `millrace job run`; they override those of the job" },
      "ignore-checkpoints": { kind: "switch", help: "Start from scratch, not from checkpoints" },
      ...followFlags,
    },
  },
  "task ls": {
    summary: "List tasks, newest first, with their next run",
    arguments: {},
    flags: { ...connection, json },
  },
  "task show": {
    summary: "Show a task: its next runs, its counts of firings and skips, and its last error",
    details: "To list the jobs of a task: millrace job ls --parent ID",
    arguments: taskName,
    flags: { ...connection, json },
  },
  "task pause": { summary: "Pause a task: it stops firing", arguments: taskName, flags: { ...connection, json } },
  "task resume": {
    summary: "Resume a task: it fires again from its next time on",
    arguments: taskName,
    flags: { ...connection, json },
  },
  "task update": {
    summary: "Change when a task fires, or its name",
    details:
      "Settings without a flag stay as they are. --cron= removes the cron expression, --start-time= the start time.",
    arguments: taskName,
    flags: {
      name: { kind: "text", value: "NAME", help: "New name of the task and of the jobs that it starts" },
      cron: { kind: "text", value: "EXPRESSION", help: "Fire repeatedly: five fields, or @hourly, @daily, ..." },
      "start-time": {
        kind: "text",
        value: "TIME",
        help: "First firing (without --cron, the only one): 2026-01-31T09:00, 'in 2 hours', 'tomorrow 9am'",
      },
      timezone: { kind: "text", value: "ZONE", help: "Time zone of the cron expression; --timezone= means UTC" },
      ...connection,
      json,
    },
    examples: ["millrace task update nightly.sh --cron '0 4 * * *' --timezone Europe/Berlin"],
  },
  "task rm": {
    summary: "Remove a task; jobs that it created continue",
    details: "Asks for confirmation on a terminal.",
    arguments: taskName,
    flags: { yes: yesOnTerminal, ...connection, json },
  },
  upcoming: {
    summary: "Show upcoming firings of schedules and tasks, by time",
    details:
      "Times are in the time zone of --tz; without it, in that of your profile (millrace user set --timezone) or this machine.",
    arguments: {},
    flags: {
      limit: { kind: "integer", value: "N", min: 1, max: 200, help: "Maximum number (default: 20)" },
      tz: { kind: "text", value: "ZONE", help: "Time zone to show times in, such as Europe/Berlin" },
      ...connection,
      json,
    },
    examples: ["millrace upcoming", "millrace upcoming --tz Asia/Tokyo --limit 50"],
  },
  "job clusters": { summary: "List the clusters that jobs can run on", arguments: {}, flags: { ...connection, json } },
  "dataset ls": {
    summary: "List datasets, each with its newest version",
    arguments: { NAME: { optional: true, help: "Only datasets whose short or full name begins with this" } },
    flags: {
      versions: { kind: "switch", help: "List all versions of each dataset" },
      "include-removed": includeRemoved,
      ...connection,
      json,
    },
    examples: ["millrace dataset ls", "millrace dataset ls @alice.default. --versions"],
  },
  "dataset show": {
    summary: "Show a dataset: its versions, and the columns and first rows of one of them",
    arguments: dataset,
    flags: { "include-removed": includeRemoved, ...connection, json },
    examples: ["millrace dataset show cats", "millrace dataset show prod.zoo.cats@1.0.2 --json"],
  },
  "dataset lineage": {
    summary: "Draw the lineage of a dataset: its inputs, and the datasets that were created from it",
    arguments: dataset,
    flags: {
      upstream: { kind: "switch", help: "Only the inputs" },
      downstream: { kind: "switch", help: "Only the datasets that were created from this one" },
      depth: { kind: "integer", value: "N", min: 1, max: 100, help: "Maximum number of steps (default: 10)" },
      ...connection,
      json,
    },
  },
  "dataset edit": {
    summary: "Rename a dataset, or change its description and attributes",
    details: "Scripts that read the dataset by its old name will no longer find it.",
    arguments: { NAME: { help: "Short or full name of the dataset" } },
    flags: {
      "new-name": { kind: "text", value: "NAME", help: "New name; namespace and project stay the same" },
      description: { kind: "text", value: "TEXT", help: "Description; --description= removes it" },
      attrs: { kind: "list", value: "WORD", help: "Attributes, as words or NAME=VALUE; they replace the current ones" },
      "no-attrs": { kind: "switch", help: "Remove all attributes" },
      ...connection,
      json,
    },
  },
  "dataset rm": {
    summary: "Remove a version, or with --force all versions",
    details:
      "The rows cannot be recovered, and the version number is not reused. A single named version is removed without asking.\n" +
      "With --force, lists all versions, then asks on a terminal and requires --yes elsewhere.",
    arguments: dataset,
    flags: {
      version: { kind: "text", value: "VERSION", help: "The same as NAME@VERSION" },
      force: { kind: "switch", help: "Remove all versions if no version is named" },
      yes,
      ...connection,
      json,
    },
    examples: ["millrace dataset rm cats@1.0.2", "millrace dataset rm cats --force --yes"],
  },
  "pipeline create": {
    summary: "Create a pipeline that rebuilds datasets and all their inputs",
    details:
      "The pipeline is created paused: review it (millrace pipeline status), then resume it. With --run it starts at once.\n" +
      "A short name is in your own namespace, @you.default; without @VERSION, the latest version is used.",
    arguments: {
      DATASET: { many: true, help: "name, project.name or namespace.project.name, optionally with @1.2.3" },
    },
    flags: {
      ...connection,
      run: { kind: "switch", help: "Start at once, without a review" },
      watch: { kind: "switch", short: "w", help: "With --run: watch the pipeline until it ends" },
      json,
    },
    examples: ["millrace pipeline create final", "millrace pipeline create final@1.2.0 stats --run --watch"],
  },
  "pipeline status": {
    summary: "Show a pipeline and its runs",
    details:
      "--watch follows the pipeline until it ends; if the output is not a terminal, it prints a line for each change. The\n" +
      "exit codes are then 0 complete, 1 failed, 2 canceled. Ctrl-C stops watching; the pipeline continues.",
    arguments: pipelineName,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline ls": pipelineList,
  "pipeline list": { ...pipelineList, summary: "The same as `pipeline ls`, under the datachain client's name" },
  "pipeline pause": {
    summary: "Pause a pipeline: running jobs finish, no new ones start",
    arguments: pipelineName,
    flags: { ...connection, json },
  },
  "pipeline resume": {
    summary: "Resume a pipeline: runs start once their parents are complete",
    arguments: pipelineName,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline remove-job": {
    summary: "Remove a PENDING run from a paused pipeline",
    details: "Runs that waited for the removed run then wait for its parents.",
    arguments: pipelineJob,
    flags: { ...connection, json },
  },
  "pipeline settings": {
    summary: "Change settings of all runs that have not started",
    details:
      "Each setting replaces the setting of the original jobs; only variables are added to the existing ones. An empty value\n" +
      "(--repository=, --req=, --files=) restores the original setting.",
    arguments: pipelineName,
    flags: {
      ...connection,
      "env-file": { kind: "text", value: "FILE", complete: "file", help: "File with NAME=VALUE lines" },
      env: { kind: "list", value: "NAME=VALUE", help: "Environment variables of every run" },
      "credentials-name": { kind: "list", short: "c", value: "NAME", help: "Credentials of every run" },
      workers: { kind: "integer", value: "N", min: 0, help: "Slots of the cluster that each run occupies" },
      files: { kind: "list", value: "FILE", complete: "file", help: "Files to upload into the folder of every run" },
      "python-version": { kind: "text", value: "X.Y", help: "Python version, such as 3.12" },
      repository: { kind: "text", value: "URL", help: "Git repository to clone first, optionally with @revision" },
      "req-file": { kind: "text", value: "FILE", complete: "file", help: "Python requirements file" },
      req: { kind: "list", value: "PACKAGE", help: "Python packages to install" },
      priority: { kind: "integer", value: "N", min: 0, max: 5, help: "0 runs first, 5 last" },
      "reuse-listings": { kind: "switch", help: "Let runs use cached storage listings, up to four hours old" },
      "list-anew": { kind: "switch", help: "Let runs list storages again (the default)" },
      ...retryFlags,
      json,
    },
    examples: ["millrace pipeline settings river-mill --python-version 3.12 --env DEBUG=1"],
  },
  "pipeline cancel": {
    summary: "Cancel a pipeline: running jobs are canceled, no new ones start",
    arguments: pipelineName,
    flags: { ...connection, json },
  },
  "pipeline rerun": {
    summary: "Rerun failed and canceled runs; complete runs are not repeated",
    arguments: pipelineName,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline retry-job": {
    summary: "Rerun a single run that failed or was canceled",
    arguments: pipelineJob,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline backfill": {
    summary: "Run copies of a pipeline for past dates",
    details:
      "Each run gets its date in MILLRACE_SCHEDULED_AT and MILLRACE_SCHEDULED_DATE. The server runs them on its own, even\n" +
      "after a restart: millrace backfill show tells the progress. At most 1000 dates.",
    arguments: pipelineName,
    flags: {
      from: { kind: "text", value: "TIME", help: "First date: 2026-01-01 or 2026-01-01T06:00" },
      to: { kind: "text", value: "TIME", help: "Last date, inclusive; it must be in the past" },
      every: {
        kind: "text",
        value: "PERIOD",
        complete: everyWords,
        help: "hour, day (default), week, month, or a cron expression",
      },
      timezone: { kind: "text", value: "ZONE", help: "Time zone of the times and of the period (default: UTC)" },
      parallel: {
        kind: "integer",
        value: "N",
        min: 1,
        max: 100,
        help: "Maximum number of parallel runs (default: 1, in order)",
      },
      "on-failure": {
        kind: "text",
        value: "POLICY",
        complete: failureWords,
        help: "When a run fails: stop (default), or continue with the other dates",
      },
      ...connection,
      json,
    },
    examples: [
      "millrace pipeline backfill river-mill --from 2026-01-01 --to 2026-01-31 --every day",
      "millrace pipeline backfill river-mill --from 2026-01-01 --to 2026-02-01 --every '30 2 * * 1-5' --parallel 4",
    ],
  },
  "backfill ls": {
    summary: "List backfills, newest first",
    arguments: {},
    flags: {
      ...connection,
      limit: { kind: "integer", short: "l", value: "N", min: 1, max: 1000, help: "Maximum number (default: 20)" },
      json,
    },
  },
  "backfill show": {
    summary: "Show a backfill and the status of each date",
    arguments: backfillId,
    flags: { ...connection, json },
  },
  "backfill cancel": {
    summary: "Cancel a backfill: running jobs are canceled, no new ones start",
    arguments: backfillId,
    flags: { ...connection, json },
  },
  "backfill retry": {
    summary: "Rerun failed and canceled dates, and continue with dates that have not run",
    arguments: backfillId,
    flags: { ...connection, json },
  },
  "pipeline hand-over": {
    summary:
      "Transfer runs that have not started to another user; they then run with that user's rights and credentials",
    details:
      "You can transfer the pipeline to yourself or, as an admin of the team, to its service account;\nadministrators of the server can choose anybody.",
    arguments: { ...pipelineName, USER: { help: "New owner" } },
    flags: { force, ...connection },
  },
  "schedule create": {
    summary: "Run copies of a pipeline on a schedule",
    details:
      "The pipeline itself is not changed. It need not run: it may be paused, as `millrace pipeline create` leaves it.\n" +
      "`millrace schedule show` prints the name of the schedule's copy; `millrace pipeline settings` can change the copy.",
    arguments: { NAME: { help: "Name of the new schedule" }, PIPELINE: { help: "Name of the pipeline to copy" } },
    flags: { ...scheduleFlags, owner, force, ...connection, json },
    examples: [
      "millrace schedule create nightly river-mill --cron '30 2 * * *' --timezone Europe/Berlin",
      "millrace schedule create once river-mill --start-time 'tomorrow 9am'",
      "millrace schedule create after-raw river-mill --on-dataset raw --quiet-for 10m",
    ],
  },
  "schedule update": {
    summary: "Change, pause or resume a schedule",
    details:
      "Settings without a flag stay as they are. An empty value (--cron=, --start-time=, --on-dataset=) removes the setting.",
    arguments: scheduleName,
    flags: {
      name: { kind: "text", value: "NAME", help: "New name" },
      ...scheduleFlags,
      refresh: { kind: "switch", help: "For each dataset of the pipeline, use the newest script that created it" },
      pause: { kind: "switch", help: "Stop firing; running jobs continue" },
      resume: { kind: "switch", help: "Fire again, from the next scheduled time on" },
      owner,
      force,
      ...connection,
      json,
    },
    examples: [
      "millrace schedule update nightly --owner main-service",
      "millrace schedule update nightly --cron '0 4 * * *'",
      "millrace schedule update nightly --refresh",
      "millrace schedule update nightly --pause",
    ],
  },
  "schedule delete": {
    summary: "Delete a schedule; pipelines that it started continue",
    details: "Asks for confirmation on a terminal.",
    arguments: scheduleName,
    flags: { yes: yesOnTerminal, ...connection, json },
  },
  "schedule ls": {
    summary: "List schedules by name, with their health",
    arguments: {},
    flags: { ...connection, json },
  },
  "schedule show": {
    summary: "Show a schedule: health, next and last firings, newest run, and its copy of the pipeline",
    arguments: scheduleName,
    flags: { ...connection, json },
  },
  "webhook create": {
    summary: "Send events to a URL; a PING is sent at once",
    details:
      "Without --event and --job-status, sends every failure, recovery, skip and overdue event. Without --secret-file, a\n" +
      "secret is generated and shown once; docs/notifications.md explains how to verify signatures.",
    arguments: { URL: { help: "http:// or https://" } },
    flags: {
      ...webhookFlags,
      insecure: { kind: "switch", help: "Accept any TLS certificate of the receiver" },
      ...connection,
      json,
    },
    examples: [
      "millrace webhook create https://hooks.example.com/millrace --event pipeline.failure pipeline.recovery",
      "millrace webhook create https://hooks.slack.com/services/T0/B0/x --format slack",
    ],
  },
  "webhook ls": { summary: "List webhooks, without their secrets", arguments: {}, flags: { ...connection, json } },
  "webhook show": { summary: "Show a webhook and its health", arguments: webhookId, flags: { ...connection, json } },
  "webhook test": {
    summary: "Send a PING and show the outcome",
    arguments: webhookId,
    flags: { ...connection, json },
  },
  "webhook update": {
    summary: "Change a webhook, disable it, or enable it again",
    details: "Settings without a flag stay as they are.",
    arguments: webhookId,
    flags: {
      address: { kind: "text", value: "URL", help: "New URL of the receiver" },
      ...webhookFlags,
      insecure: { kind: "switch", help: "Accept any TLS certificate of the receiver" },
      secure: { kind: "switch", help: "Check the TLS certificate of the receiver" },
      ...enabling,
      ...connection,
      json,
    },
    examples: ["millrace webhook update 3 --enable"],
  },
  "webhook rm": {
    summary: "Delete a webhook and its deliveries; waiting ones are not sent",
    details: "Asks for confirmation on a terminal.",
    arguments: webhookId,
    flags: { yes: yesOnTerminal, ...connection },
  },
  "webhook deliveries": {
    summary: "List deliveries to webhooks and e-mail addresses, newest first",
    arguments: { ID: { optional: true, help: "Only deliveries to this webhook" } },
    flags: {
      address: { kind: "text", value: "ADDRESS", help: "Only e-mails to this address" },
      status: { kind: "text", value: "STATUS", complete: deliveryWords, help: "pending, delivered or failed" },
      limit: { kind: "integer", value: "N", min: 1, max: 100, help: "Maximum number (default: 20)" },
      ...connection,
      json,
    },
  },
  "webhook redeliver": {
    summary: "Send a delivery again, with the same id and the same body",
    arguments: { DELIVERY: { help: "Id of the delivery" } },
    flags: { ...connection, json },
  },
  "notify set": {
    summary: "Send events to an e-mail address, or change which events it gets",
    details:
      "A new address receives all events unless --event names some. E-mail works only if the operator of the server has\n" +
      "configured it: see docs/notifications.md.",
    arguments: { ADDRESS: { help: "E-mail address" } },
    flags: { event: eventFlag, ...enabling, ...connection, json },
    examples: ["millrace notify set team@example.com --event pipeline.failure schedule.overdue"],
  },
  "notify ls": { summary: "List the addresses and their events", arguments: {}, flags: { ...connection, json } },
  "notify test": {
    summary: "Send a test e-mail and show the outcome",
    arguments: { ADDRESS: { help: "E-mail address" } },
    flags: { ...connection, json },
  },
  "notify rm": {
    summary: "Stop sending e-mails to an address",
    arguments: { ADDRESS: { help: "E-mail address" } },
    flags: { ...connection },
  },
  "cluster add": {
    summary: "Add a cluster: Slurm, Ray or Kubernetes",
    details:
      "Jobs of the cluster run on machines that Millrace does not manage. docs/clusters.md leads to a page for each engine.\n" +
      "A secret is read from a file, because other users of this machine can see a command line.",
    arguments: { NAME: { help: "Name of the new cluster: lower-case letters, digits, hyphens, underscores" } },
    flags: {
      engine: { kind: "text", value: "KIND", help: "slurm, ray or kubernetes" },
      ...clusterSettings,
      url,
      json,
    },
    examples: ["millrace cluster add hpc --engine slurm --max-workers 64 --option partition=main --for research"],
  },
  "cluster ls": { summary: "List all clusters with their status", arguments: {}, flags: { url, json } },
  "cluster show": { summary: "Show a cluster with its options", arguments: cluster, flags: { url, json } },
  "cluster set": {
    summary: "Change a cluster: its state, slots, teams, options and secrets",
    arguments: cluster,
    flags: {
      state: {
        kind: "text",
        value: "STATE",
        help: "active; paused: jobs wait; draining: no new jobs are accepted either",
        complete: ["active", "paused", "draining"],
      },
      ...clusterSettings,
      url,
      json,
    },
    examples: ["millrace cluster set hpc --state paused", "millrace cluster set hpc --option time=2:00:00"],
  },
  "cluster drain": {
    summary: "Accept and start no more jobs on a cluster; running jobs go on",
    arguments: cluster,
    flags: { url },
  },
  "cluster test": {
    summary: "Run a job that does nothing on a cluster, and tell step by step what works",
    arguments: cluster,
    flags: {
      seconds: { kind: "integer", value: "N", min: 1, max: 300, help: "How long it may take (default: 60)" },
      url,
      json,
    },
  },
  "cluster remove": {
    summary: "Remove a cluster on which no job runs or waits; jobs that ran on it stay",
    arguments: cluster,
    flags: {
      force: { kind: "switch", help: "Remove it with its jobs, which fail: for a cluster that is gone for good" },
      yes: yesOnTerminal,
      url,
    },
  },
  "credentials ls": {
    summary: "List the credentials that your jobs may use, without secret values",
    arguments: {},
    flags: { ...connection, json },
  },
  "credentials set": {
    summary: "Create credentials, or replace all their values",
    details:
      "Reads NAME=VALUE lines from --file or from standard input, or, with --prompt, asks for values without echo. Values\n" +
      "are never part of the command line, where other users of the machine could see them. New values for the same\n" +
      "variables replace the old ones without asking; if variables would be removed from the set, asks first\n" +
      "on a terminal and requires --yes elsewhere.",
    arguments: { NAME: { help: "Name of the set" } },
    flags: {
      ...connection,
      own,
      file: { kind: "text", value: "FILE", complete: "file", help: "File with NAME=VALUE lines" },
      prompt: { kind: "list", value: "VARIABLE", help: "Ask for the values of these variables" },
      plain: {
        kind: "list",
        value: "VARIABLE",
        help: "Variables that are not secret: shown in lists, not masked in logs",
      },
      yes,
    },
    examples: [
      "millrace credentials set aws --file aws.env --plain AWS_REGION",
      "millrace credentials set aws --own --prompt AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY",
    ],
  },
  "credentials rm": {
    summary: "Delete credentials; jobs that name them and have not started will fail",
    details: "The values cannot be recovered, so the command asks first on a terminal and requires --yes elsewhere.",
    arguments: { NAME: { help: "Name of the set" } },
    flags: { ...connection, own, yes },
  },
  "credentials default": {
    summary: "Show or choose the default credentials of the team's jobs",
    arguments: { NAME: { optional: true, help: "Name of a set of the team" } },
    flags: { ...connection, none: { kind: "switch", help: "Use no default credentials" } },
  },
  "storage ls": {
    summary: "List a folder, or what a pattern matches",
    details:
      "s3://, gs:// and az:// without a bucket list the buckets; gs:// needs the `project` parameter in --client-config.\n" +
      "Patterns: * and ? within a folder, ** across folders, {a,b} and {1..9}, [classes].\n" +
      "Quote patterns in a shell; a backslash makes a character literal. An exact name wins over a pattern. A pattern\n" +
      "without a match is an error.",
    arguments: storageUri,
    flags: { recursive, "client-config": clientConfig, json },
    examples: ["millrace storage ls s3://bucket/data/", "millrace storage ls 's3://bucket/**/*.csv' --json"],
  },
  "storage cat": {
    summary: "Print the bytes of a file, or of a range of it",
    arguments: storageUri,
    flags: {
      start: { kind: "integer", value: "BYTE", min: 0, help: "First byte (default: 0)" },
      end: {
        kind: "integer",
        value: "BYTE",
        min: 0,
        help: "Position after the last byte (default: the end of the file)",
      },
      "client-config": clientConfig,
    },
  },
  "storage cp": {
    summary: "Copy a file, or with --recursive a folder",
    details:
      "If TO ends with a slash or is a folder, the file keeps its name there; with --recursive, the files of FROM are copied\n" +
      "into TO. Existing files are replaced. FROM may be - for standard input, TO may be - for standard output (only one\n" +
      "file).",
    arguments: fromAndTo,
    flags: { recursive, ...bothConfigs, json },
    examples: [
      "millrace storage cp report.csv s3://bucket/reports/ --client-config @s3.json",
      "millrace storage cp -r s3://bucket/data/ data/",
    ],
  },
  "storage sync": {
    summary: "Make a folder like another: copy files that are missing, differ in size, or are newer",
    details:
      "With --delete, removes files that only TO has. If there are any, asks first on a terminal and requires --yes\n" +
      "elsewhere. --dry-run asks nothing and changes nothing. FROM must be an existing folder or bucket.\n" +
      "The modification time of a copy is the time when it was copied, so a sync in the other direction copies everything\n" +
      "once. An unchanged file may be copied again if the clock of TO is behind, or if TO stores times in whole seconds\n" +
      "and the file was copied in the second in which it was written.",
    arguments: fromAndTo,
    flags: {
      delete: { kind: "switch", help: "Remove files of TO that FROM does not have" },
      ...asksFirst,
      ...bothConfigs,
      json,
    },
    examples: ["millrace storage sync data/ s3://bucket/data/ --delete --dry-run"],
  },
  "storage rm": {
    summary: "Remove a file, or with --recursive a folder with its contents",
    details:
      "A single file is removed without asking. With --recursive, counts the files, then asks on a terminal and requires\n" +
      "--yes elsewhere. --dry-run asks nothing and removes nothing. Removing something that does not exist is an error.",
    arguments: storageUri,
    flags: { recursive, ...asksFirst, "client-config": clientConfig, json },
  },
  "storage du": {
    summary: "Show the number of files and bytes, in total and in each folder",
    arguments: storageUri,
    flags: { "client-config": clientConfig, json },
  },
  "storage stat": {
    summary: "Show the metadata of a file",
    arguments: storageUri,
    flags: { "client-config": clientConfig, json },
  },
  "storage explain": {
    summary: "Show every parameter of a storage: its value, its source, and its meaning",
    details: "No request is sent. Secrets are masked.",
    arguments: storageUri,
    flags: { "client-config": clientConfig, json },
    examples: ["millrace storage explain s3://bucket --client-config @s3.json"],
  },
  backup: {
    summary: "Back up the database, datasets, uploads and logs into a new folder, with or without a running server",
    details:
      "The backup contains the database at one point in time, and each team's datasets at a later one, with every version\n" +
      "that the database names. Jobs continue during the backup. The command ends with a summary, and with exit code 1\n" +
      "if a team's datasets could not be read and a daily copy was used instead. Verify with `millrace backup verify DIR`.\n" +
      "The encryption key (secret.key in the data folder) is left out unless --with-key is given. Without the key,\n" +
      "credentials and jobs' variables cannot be decrypted. Keep the key in a different place from the backup.",
    arguments: { DIR: { help: "Folder to create; it must not exist yet", complete: "directory" } },
    flags: { "with-key": { kind: "switch", help: "Include the encryption key" }, ...serverFlags },
    examples: ["millrace backup /backups/millrace-2026-01-31 --data-dir /srv/millrace"],
  },
  "backup verify": {
    summary: "Verify a whole backup: checksums, database, datasets",
    details:
      "Restores the database and each team's datasets into a temporary folder, checks that every registered version\n" +
      "is there, and removes the folder. Needs neither a server nor its data folder.",
    arguments: { DIR: { help: "Folder of the backup", complete: "directory" } },
    flags: {
      "work-dir": {
        kind: "text",
        value: "DIR",
        complete: "directory",
        help: "Parent of the temporary folder; needs space for the largest team's datasets (default: $TMPDIR)",
      },
      json,
    },
    examples: ["millrace backup verify /backups/millrace-2026-01-31"],
  },
  restore: {
    summary: "Restore a backup into an empty data folder and, with PostgreSQL, an empty database",
    details:
      "Jobs that were running become FAILED. Jobs that waited will run, even if they already ran after the backup was\n" +
      "made, unless --cancel-queued is given. To move from SQLite to PostgreSQL or back, restore a\n" +
      "backup into the other database.",
    arguments: { DIR: { help: "Folder of the backup", complete: "directory" } },
    flags: {
      "cancel-queued": { kind: "switch", help: "Cancel waiting jobs instead of running them" },
      ...serverFlags,
    },
    examples: ["millrace restore /backups/millrace-2026-01-31 --data-dir /srv/millrace-new"],
  },
  doctor: {
    summary: "Check this machine, the server and the settings, and show the configuration",
    arguments: {},
    flags: { url, json, ...serverFlags },
  },
  completion: {
    summary: "Print a shell completion script",
    details:
      'bash: eval "$(millrace completion bash)" in ~/.bashrc\n' +
      'zsh:  eval "$(millrace completion zsh)" in ~/.zshrc, after compinit\n' +
      "fish: millrace completion fish > ~/.config/fish/completions/millrace.fish",
    arguments: { SHELL: { help: "bash, zsh or fish", complete: ["bash", "zsh", "fish"] } },
    flags: {},
  },
} as const satisfies Record<string, Command>;

export type CommandPath = keyof typeof commands;
export type GroupName = keyof typeof groups;

type FlagValue<F extends Flag> = {
  switch: boolean;
  text: string | undefined;
  integer: number | undefined;
  list: readonly string[];
  texts: readonly string[];
}[F["kind"]];

type Flags<Table> = { readonly [N in keyof Table]: Table[N] extends Flag ? FlagValue<Table[N]> : never };
type Arguments<Table> = {
  readonly [N in keyof Table]: Table[N] extends { many: true }
    ? readonly string[]
    : Table[N] extends { optional: true }
      ? string | undefined
      : string;
};

/** The parsed flags and arguments that the handler of a command gets. */
export interface Input<P extends CommandPath> {
  readonly flags: Flags<(typeof commands)[P]["flags"]> & Flags<typeof commonFlags>;
  readonly arguments: Arguments<(typeof commands)[P]["arguments"]>;
}
