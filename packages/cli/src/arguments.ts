/**
 * Every command with its arguments and flags, as data. Parsing, help, suggestions and shell completion are all
 * derived from this table, so they cannot disagree. Where the `datachain` client has the same command, its flags
 * have the same names and meanings here.
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

/** What a shell completes for a value: files, folders, or one of these words. */
export type Completion = "file" | "directory" | readonly string[];

export interface Flag {
  /** `list` takes several values after one flag (`--req a b`), and may be repeated; `texts` may only be repeated. */
  readonly kind: "switch" | "text" | "integer" | "list" | "texts";
  readonly help: string;
  readonly short?: string;
  /** The placeholder that help shows for the value. */
  readonly value?: string;
  readonly min?: number;
  readonly max?: number;
  readonly complete?: Completion;
}

interface Argument {
  readonly help: string;
  readonly optional?: true;
  /** The argument is optional only if this flag is given: the flag replaces it. */
  readonly unless?: string;
  /** The last argument may take all remaining words, at least one. */
  readonly many?: true;
  readonly complete?: Completion;
}

export interface Command {
  readonly summary: string;
  /** `--help` shows these details below the summary. */
  readonly details?: string;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples?: readonly string[];
}

/** The first words of two-word commands. */
export const groups = {
  auth: "Sign in and out, and choose a team",
  admin: "Make tokens, sign-in links and passwords, and exchange keys, on the server's own machine",
  user: "Show and change people: yourself, or as an administrator anybody",
  team: "Show and change teams: members, roles, invitations, quotas",
  token: "Make, list and revoke tokens",
  job: "Run jobs, follow their logs, list and cancel them",
  task: "Show, change, pause and remove tasks: jobs with a cron expression or a start time",
  dataset: "Show datasets, their versions and where they come from; change and remove them",
  pipeline: "Rebuild datasets by running again, in order, the jobs that made them",
  schedule: "Run pipelines again and again, at their times",
  backfill: "Show, cancel and go on with runs of pipelines for past moments",
  webhook: "Have URLs told what becomes of jobs, pipelines and schedules",
  notify: "Have e-mails sent about what becomes of jobs, pipelines and schedules",
  credentials: "Keep sets of variables that jobs are given, such as keys of a storage",
  storage: "List, read, copy and remove files, here and in object stores",
} as const;

/** Every command takes these flags. */
export const commonFlags = {
  help: { kind: "switch", short: "h", help: "Show this help" },
  quiet: { kind: "switch", short: "q", help: "Say nothing but results and errors" },
  verbose: { kind: "switch", short: "v", help: "Show where an error came from" },
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
const own = { kind: "switch", help: "Your own set, for your jobs only, instead of the team's" } as const;
const dataset = {
  NAME: { help: "Dataset, short or in full; @1.2.3 may follow (default: the newest version)" },
} as const;
const includeRemoved = { kind: "switch", help: "Also versions that were removed" } as const;
const jobId = { ID: { help: "Job id, or its beginning or end (6 characters or more)" } } as const;

const roleWords = ["viewer", "editor", "admin"] as const satisfies readonly Role[];
const role = { kind: "text", value: "ROLE", complete: roleWords, help: "viewer, editor or admin" } as const;
const user = { USER: { help: "User name" } } as const;
const person = {
  "first-name": { kind: "text", value: "NAME", help: "First name" },
  "last-name": { kind: "text", value: "NAME", help: "Last name" },
  email: { kind: "text", value: "ADDRESS", help: "E-mail address; --email= removes it" },
  timezone: { kind: "text", value: "ZONE", help: "Time zone in which times are shown; --timezone= removes it" },
} as const satisfies Record<string, Flag>;
const quotas = {
  "max-running": { kind: "integer", value: "N", min: 0, max: 1_000_000, help: "Jobs at once; 0: the server's default" },
  "max-queued": { kind: "integer", value: "N", min: 0, max: 1_000_000, help: "Jobs waiting; 0: the server's default" },
  "max-tasks": { kind: "integer", value: "N", min: 0, max: 1_000_000, help: "Tasks; 0: the server's default" },
  "max-schedules": { kind: "integer", value: "N", min: 0, max: 1_000_000, help: "Schedules; 0: the server's default" },
  "max-datasets": {
    kind: "text",
    value: "SIZE",
    help: "Dataset store on disk, such as 200GiB; 0: the server's default",
  },
  "max-uploads": { kind: "text", value: "SIZE", help: "Uploads on disk; 0: the server's default" },
  "max-texts": {
    kind: "text",
    value: "SIZE",
    help: "Long texts of jobs in the store; 0: the server's default",
  },
  "max-exports": { kind: "text", value: "SIZE", help: "Files of exports on disk; 0: the server's default" },
  "max-environments": { kind: "text", value: "SIZE", help: "Environments on disk; 0: the server's default" },
  "max-logs": { kind: "text", value: "SIZE", help: "Logs of ended jobs on disk; 0: the server's default" },
} as const satisfies Record<string, Flag>;
const secretInput = "It is asked for without being shown, or read from standard input; never given as an argument.";

const storageUri = { URI: { help: "Such as s3://bucket/path, or a path of this machine", complete: "file" } } as const;
const clientConfig = {
  kind: "text",
  value: "JSON",
  help: "Parameters of the storage: JSON, @FILE that holds it, or @- for standard input",
} as const;
const recursive = { kind: "switch", short: "r", help: "Also everything below" } as const;
const yes = { kind: "switch", short: "y", help: "Do not ask; needed where there is no terminal to ask on" } as const;
const yesOnTerminal = {
  kind: "switch",
  short: "y",
  help: "Do not ask; nothing is asked where there is no terminal",
} as const;
const asksFirst = {
  "dry-run": { kind: "switch", short: "n", help: "Show what would be done, and do nothing" },
  yes,
} as const satisfies Record<string, Flag>;
const leaving = {
  "transfer-to": {
    kind: "text",
    value: "USER",
    help: "Who takes over their schedules, tasks and pipelines, such as the team's service account",
  },
  ...asksFirst,
} as const satisfies Record<string, Flag>;
const leavingDetails =
  "Shows what runs in their name. Where schedules, tasks or pipelines would stop or change hands you are asked on a\n" +
  "terminal, and elsewhere --yes is needed. Jobs that run go on. To people other than you only an administrator of the\n" +
  "server hands over.";
const owner = {
  kind: "text",
  value: "USER",
  help: "New owner, as whom all its runs run: you, or the service account",
} as const;
const force = { kind: "switch", help: "Also where the new owner lacks credentials that the runs name" } as const;
const fromAndTo = {
  FROM: { help: "What to copy: a URI or a path of this machine", complete: "file" },
  TO: { help: "Where to: a URI or a path of this machine", complete: "file" },
} as const;
const bothConfigs = {
  "client-config": { ...clientConfig, help: "Parameters of both storages, except local files: JSON, @FILE, or @-" },
  "to-client-config": { ...clientConfig, help: "The same for TO alone, where it needs others" },
} as const satisfies Record<string, Flag>;

/** Completion offers these words; the server accepts more. */
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

const watchFlag = { kind: "switch", short: "w", help: "Watch the pipeline to its end" } as const;
const pipelineName = { NAME: { help: "Name of the pipeline" } } as const;
const pipelineJob = {
  ...pipelineName,
  ID: {
    help: "Job id, original job id or name of the run, as `millrace pipeline status` shows it, or its beginning or end",
  },
} as const;

const taskName = { TASK: { help: "Name or id of the task, or the beginning or end of the id" } } as const;
const scheduleName = { SCHEDULE: { help: "Name or id of the schedule" } } as const;
const overlapWords = ["skip", "wait", "allow"] as const satisfies readonly OverlapPolicy[];
const catchUpWords = ["one", "none", "all"] as const satisfies readonly CatchUpPolicy[];
const followWords = ["none", "latest"] as const satisfies readonly FollowPolicy[];
const scheduleFlags = {
  cron: { kind: "text", value: "EXPRESSION", help: "When, again and again: five fields, or @hourly, @daily, ..." },
  "start-time": {
    kind: "text",
    value: "TIME",
    help: "Not before this time, without --cron once: 2026-01-31T09:00, 'in 2 hours', 'tomorrow 9am'",
  },
  timezone: { kind: "text", value: "ZONE", help: "Time zone of the cron expression (default: UTC)" },
  "on-dataset": { kind: "text", value: "DATASET", help: "Also, or only, when this dataset has a new version" },
  "quiet-for": {
    kind: "text",
    value: "TIME",
    help: "Not before that dataset has had no further version for so long: 90s, 10m, 2h (default: 60s)",
  },
  overlap: {
    kind: "text",
    value: "POLICY",
    complete: overlapWords,
    help: "While the last run is still going: skip (default), wait for its end, or allow both",
  },
  "catch-up": {
    kind: "text",
    value: "POLICY",
    complete: catchUpWords,
    help: "After an outage: one run for all missed ones (default), none, or all",
  },
  follow: {
    kind: "text",
    value: "POLICY",
    complete: followWords,
    help: "Scripts: none (default) keeps those that it has, latest takes the newest at each firing",
  },
} as const satisfies Record<string, Flag>;

const backfillId = { ID: { help: "Number of the backfill, as `millrace backfill ls` shows it" } } as const;
const failureWords = ["stop", "continue"] as const satisfies readonly BackfillFailurePolicy[];
const everyWords = ["hour", "day", "week", "month"] as const;
const webhookId = { ID: { help: "Id of the webhook, as millrace webhook ls shows it" } } as const;
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
  help: "Such as job.failure, pipeline.recovery, schedule.skip: docs/notifications.md has all",
} as const;
const enabling = {
  enable: { kind: "switch", help: "Send what waits, and go on" },
  disable: { kind: "switch", help: "Tell nothing for now" },
} as const satisfies Record<string, Flag>;
const deliveryWords = ["pending", "delivered", "failed"] as const satisfies readonly DeliveryStatus[];
const webhookFlags = {
  event: eventFlag,
  "job-status": { kind: "list", value: "STATUS", help: "States of jobs that are told, such as COMPLETE FAILED" },
  format: {
    kind: "text",
    value: "FORMAT",
    complete: ["json", "form", "slack"] as const satisfies readonly WebhookFormat[],
    help: "json (default), form (the same in the field payload), or slack (only a text)",
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
    help: "Folder with the store, logs and files (default: ./.millrace)",
  },
  "database-url": { kind: "text", value: "URL", help: "PostgreSQL to use instead of the embedded SQLite" },
} as const satisfies Record<string, Flag>;

const paramsFlag = {
  kind: "list",
  value: "NAME=VALUE",
  help: "Parameters that the script reads with param(); also a JSON object",
} as const;

/** Jobs and pipeline runs share these flags. */
const retryFlags = {
  timeout: { kind: "text", value: "TIME", help: "How long an attempt may run, such as 10m; 0: without a limit" },
  retries: { kind: "integer", value: "N", min: 0, max: 20, help: "How often to try again after a failure" },
  "retry-delay": {
    kind: "text",
    value: "TIME",
    help: "Wait before the first retry (default: 30s); each further one is twice as long",
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
      help: "Only pipelines in this state, or in these with commas between them",
    },
    search: { kind: "text", short: "S", value: "TEXT", help: "Only those with this text in the name or a dataset" },
    limit: {
      kind: "integer",
      short: "l",
      value: "N",
      min: 1,
      max: 1000,
      help: "At most so many pipelines (default: 20)",
    },
    json,
  },
} as const satisfies Command;

export const commands = {
  serve: {
    summary: "Start the service",
    arguments: {},
    flags: serverFlags,
    examples: ["millrace serve", "millrace serve --port 9000 --data-dir /srv/millrace"],
  },
  "auth login": {
    summary: "Sign in: confirm a code in a browser, or with `millrace auth approve`",
    details: "The token is stored where the datachain client keeps its own, so signing in once is enough for both.",
    arguments: {},
    flags: {
      url,
      hostname: { kind: "text", short: "H", value: "URL", help: "The same as --url" },
      scopes: { kind: "text", short: "s", value: "SCOPES", help: "Comma-separated scopes of the token (default: all)" },
      name: { kind: "text", short: "n", value: "NAME", help: "Name of the token (default: chosen by the server)" },
      "no-open": { kind: "switch", help: "Do not open a browser" },
      local,
      team: { kind: "list", value: "NAME", help: "Limit the token to these teams; a single one becomes the default" },
      "expires-in": {
        kind: "integer",
        value: "DAYS",
        min: 1,
        max: 3650,
        help: "Life of the token (default: 365 days)",
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
    summary: "Show who you are, at which server, in which team, with which token",
    details:
      "Where each comes from is shown, too. Exit codes: 0 signed in, 4 not signed in, or the token does not work.",
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
    summary: "Print a new token; works on the store itself, whether the server runs or not",
    arguments: {},
    flags: {
      user: { kind: "text", value: "NAME", help: "Whose token (default: admin)" },
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
    flags: { user: { kind: "text", value: "NAME", help: "Who signs in with it (default: admin)" }, ...serverFlags },
  },
  "admin rotate-key": {
    summary: "Encrypt the secrets of the store with a new key; works on the store itself, with the server up or down",
    details:
      "Puts a new key into the key file, encrypts everything anew, and drops the old key once nothing needs it. What is\n" +
      "cut short is finished by running it again. With MILLRACE_SECRET_KEY, put the new key in front yourself, restart\n" +
      "the server, then run this.",
    arguments: {},
    flags: { json, ...serverFlags },
  },
  "admin password": {
    summary: "Set a password; works on the store itself, whether the server runs or not",
    details: `${secretInput}\nEnds the user's browser sessions. A server that other machines can reach wants an administrator with a password.`,
    arguments: {},
    flags: { user: { kind: "text", value: "NAME", help: "Whose password (default: admin)" }, ...serverFlags },
    examples: ["millrace admin password", "millrace admin password --user alice < password-file"],
  },
  "user add": {
    summary: "Make a user",
    details: `Without --password they sign in by a link (millrace admin link --user NAME).\n${secretInput}`,
    arguments: { USER: { help: "Name of the new user: lower-case letters, digits, hyphens, underscores" } },
    flags: {
      ...person,
      admin: { kind: "switch", help: "An administrator of the whole server" },
      password: { kind: "switch", help: "Ask for a password" },
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
    summary: "Change your names, e-mail address and time zone, or those of another user",
    arguments: { USER: { optional: true, help: "User name (default: you)" } },
    flags: {
      ...person,
      admin: { kind: "switch", help: "Make the user an administrator of the server" },
      "no-admin": { kind: "switch", help: "Take that back; the last administrator stays one" },
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
    summary: "Change your password, or as an administrator somebody else's",
    details: `${secretInput}\nFrom standard input: the present password, if you have one and change your own, and the new one, each on a line.\nBrowser sessions of the user end.`,
    arguments: { USER: { optional: true, help: "User name (default: you)" } },
    flags: { url },
  },
  "team add": {
    summary: "Make a team",
    arguments: { NAME: { help: "Name of the new team: lower-case letters, digits, hyphens, underscores" } },
    flags: { admin: { kind: "text", value: "USER", help: "Its first admin (default: you)" }, ...quotas, url, json },
  },
  "team ls": { summary: "List your teams; administrators of the server see all", arguments: {}, flags: { url, json } },
  "team show": { summary: "Show a team", arguments: {}, flags: { ...connection, json } },
  "team usage": {
    summary: "Show what a team keeps on disk and in the store, and how much it may",
    arguments: {},
    flags: { ...connection, json },
  },
  "team set": {
    summary: "Rename a team, choose what its jobs get that say nothing; administrators also set its quotas",
    details:
      "Settings and scripts that name the team must be told the new name; links to its jobs change. A --max-logs below what\n" +
      "the team has removes its oldest logs: you are asked on a terminal, and elsewhere --yes is needed.",
    arguments: {},
    flags: {
      name: { kind: "text", value: "NAME", help: "New name" },
      "library-version": {
        kind: "text",
        value: "VERSION",
        help: "Of datachain, for jobs that name none; empty: the server's default",
      },
      "job-timeout": {
        ...retryFlags.timeout,
        help: "For jobs that name none: how long an attempt may run; 0: no limit",
      },
      "job-retries": { ...retryFlags.retries, help: "For jobs that name none: how often to try again after a failure" },
      "job-retry-delay": {
        ...retryFlags["retry-delay"],
        help: "For jobs that name none: wait before the first retry (default: 30s)",
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
    summary: "Change the role of a member; holds from the next request on",
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
    summary: "Make the team's service account: a user that is no person, as whom schedules and tasks can run",
    details: "It has no password, and nobody signs in as it. There is one to a team.",
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
    arguments: { NAME: { help: "What it is for" } },
    flags: {
      scopes: { kind: "text", value: "SCOPES", help: "Comma-separated (default: yours, without ADMIN)" },
      "expires-in": { kind: "integer", value: "DAYS", min: 1, max: 3650, help: "Days until the token expires" },
      ...connection,
      json,
    },
  },
  "team revoke-service-token": {
    summary: "Revoke a token of the team's service account",
    arguments: { ID: { help: "Id of the token: millrace team service-tokens" } },
    flags: connection,
  },
  "team invite": {
    summary: "Print a link that lets one person into a team",
    arguments: {},
    flags: {
      role: { ...role, help: "viewer, editor or admin (default: editor)" },
      email: { kind: "text", value: "ADDRESS", help: "For whom, as a note: nothing is sent" },
      "expires-in": { kind: "integer", value: "DAYS", min: 1, max: 3650, help: "Life of the link (default: 7 days)" },
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
    arguments: { ID: { help: "As `millrace team invitations` shows it" } },
    flags: connection,
  },
  "team dataset-copies": {
    summary: "List the copies of a team's dataset store: daily ones, and stores that a copy replaced",
    arguments: {},
    flags: { ...connection, json },
  },
  "team restore-datasets": {
    summary: "Put a copy in the place of a team's dataset store",
    details:
      "For a store that a script has spoilt. None of the team's jobs may run; versions made after the copy are gone.\n" +
      "What will go is shown, and you are asked on a terminal; elsewhere --yes is needed. The store that is replaced is\n" +
      "kept for a week: `millrace team dataset-copies` lists it, and --copy puts it back.",
    arguments: {},
    flags: {
      copy: {
        kind: "text",
        value: "TIME",
        help: "As `millrace team dataset-copies` shows it (default: the newest daily one)",
      },
      ...asksFirst,
      ...connection,
      json,
    },
  },
  "token create": {
    summary: "Print a new token of yours, which reaches no further than the one you use",
    arguments: { NAME: { help: "What it is for" } },
    flags: {
      scopes: { kind: "text", value: "SCOPES", help: "Comma-separated, such as JOB,DATASETS:read (default: yours)" },
      team: { kind: "list", value: "NAME", help: "Limit it to these teams (default: all of yours)" },
      "expires-in": {
        kind: "integer",
        value: "DAYS",
        min: 1,
        max: 3650,
        help: "Days until it expires (default: never)",
      },
      url,
      json,
    },
    examples: ["millrace token create nightly --scopes JOB --team main --expires-in 90"],
  },
  "token ls": {
    summary: "List your tokens that work",
    arguments: {},
    flags: {
      user: { kind: "text", value: "USER", help: "Somebody else's: for administrators" },
      all: { kind: "switch", help: "Everybody's: for administrators" },
      url,
      json,
    },
  },
  "token revoke": {
    summary: "Revoke a token; administrators of the server revoke anybody's",
    details: "On a terminal you are asked first.",
    arguments: { ID: { help: "As `millrace token ls` shows it" } },
    flags: { yes: yesOnTerminal, url },
  },
  audit: {
    summary: "Show who changed what, newest first",
    details: "Everything for administrators of the server, a team's for its admins.",
    arguments: {},
    flags: {
      team: { kind: "text", value: "NAME", help: "Only what happened in this team" },
      user: { kind: "text", value: "USER", help: "Only what this user did" },
      action: { kind: "text", value: "ACTION", help: "Only this, such as user.create, or a noun: user, job, session" },
      limit: { kind: "integer", value: "N", min: 1, max: 1000, help: "At most so many entries (default: 50)" },
      before: { kind: "integer", value: "ID", min: 1, help: "Only entries older than this one" },
      url,
      json,
    },
    examples: ["millrace audit --action session.refuse", "millrace audit --team main --limit 200 --json"],
  },
  "job run": {
    summary: "Run a file as a job and follow it",
    details:
      "A .py file runs in Python, anything else in a shell, or in what its first line names (#!). From standard input (-)\n" +
      "a script is Python unless its first line names something else, or --name ends otherwise. Exit codes: 0 complete,\n" +
      "1 failed, 2 canceled, 4 sign-in needed. Ctrl-C stops following; the job goes on. With --start-time or --cron the\n" +
      "job is kept as a task that starts it later.",
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
        help: "Credentials that the job gets; repeat it for several sets (default: the team's; '': none)",
      },
      workers: { kind: "integer", value: "N", min: 0, help: "Slots of the cluster that the job takes" },
      files: { kind: "list", value: "FILE", complete: "file", help: "Files to take along, into the job's folder" },
      "python-version": { kind: "text", value: "X.Y", help: "Python version, such as 3.12" },
      repository: { kind: "text", value: "URL", help: "Git repository to clone first; @revision may follow" },
      script: {
        kind: "text",
        value: "PATH",
        help: "Script in the repository, read there at each start, in the place of FILE",
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
      cron: { kind: "text", value: "EXPRESSION", help: "Start again and again: five fields, or @hourly, @daily, ..." },
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
        help: "Only jobs in this state; also ACTIVE and INACTIVE",
      },
      name: { kind: "text", value: "NAME", help: "Only jobs of this name" },
      search: { kind: "text", value: "TEXT", help: "Only jobs with this text in the name or in the script" },
      tag: { kind: "list", value: "TAG", help: "Only jobs with all of these tags" },
      "created-by": { kind: "text", value: "USER", help: "Only jobs of this user" },
      since: { kind: "text", value: "TIME", help: "Only jobs created since: 2026-01-31T09:00, '2 hours ago', today" },
      until: { kind: "text", value: "TIME", help: "Only jobs created before this time" },
      cluster: { kind: "text", value: "NAME", help: "Only jobs of this cluster" },
      parent: { kind: "text", value: "ID", help: "Only jobs that this task has started" },
      limit: { kind: "integer", value: "N", min: 1, max: 1000, help: "At most so many jobs (default: 20)" },
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
    summary: "Print the log of a job and follow it to its end",
    details: "Exit codes as for `millrace job run`. Ctrl-C stops following; the job goes on.",
    arguments: jobId,
    flags: {
      ...connection,
      "no-follow": { kind: "switch", help: "Print what is there, byte for byte, and stop" },
      tail: { kind: "integer", value: "N", min: 0, help: "Begin with the last N lines" },
      attempt: {
        kind: "integer",
        value: "N",
        min: 1,
        help: "Only the log of attempt N, as it stands; `millrace job show` lists attempts",
      },
    },
  },
  "job show": {
    summary: "Show everything about a job: settings, stages, result",
    arguments: jobId,
    flags: { ...connection, json },
  },
  "job usage": {
    summary: "Show what a job uses of processors and memory, during the run and after it",
    details: "Samples are taken every second at first, and more seldom the longer the job runs.",
    arguments: jobId,
    flags: { ...connection, json },
  },
  "job cancel": {
    summary: "Cancel a job that waits or runs, or stop a task",
    arguments: jobId,
    flags: connection,
  },
  "job hand-over": {
    summary: "Let a task fire jobs as another user, with that user's rights and credentials",
    details: "To you or, as an admin of the team, to its service account; administrators of the server to anybody.",
    arguments: { ...jobId, USER: { help: "New owner" } },
    flags: { force, ...connection },
  },
  "job rerun": {
    summary: "Run a job again with the same settings, and follow it",
    details:
      "Continues from the checkpoints of the first run where there are any; exit codes as for `millrace job run`.",
    arguments: jobId,
    flags: {
      ...connection,
      params: { ...paramsFlag, help: "The same as for `millrace job run`, over those that the job had" },
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
    summary: "Show a task: when it fires, what it has fired, why it did not",
    details: "The jobs that it has started: millrace job ls --parent ID",
    arguments: taskName,
    flags: { ...connection, json },
  },
  "task pause": { summary: "Pause a task: it fires no more", arguments: taskName, flags: { ...connection, json } },
  "task resume": {
    summary: "Let a task fire again, from its next tick on",
    arguments: taskName,
    flags: { ...connection, json },
  },
  "task update": {
    summary: "Change when a task fires, or its name",
    details: "What is not named stays as it is; --cron= and --start-time= take one of the two away.",
    arguments: taskName,
    flags: {
      name: { kind: "text", value: "NAME", help: "New name, also of the jobs that it starts" },
      cron: { kind: "text", value: "EXPRESSION", help: "When, again and again: five fields, or @hourly, @daily, ..." },
      "start-time": {
        kind: "text",
        value: "TIME",
        help: "Not before this time, without --cron once: 2026-01-31T09:00, 'in 2 hours', 'tomorrow 9am'",
      },
      timezone: { kind: "text", value: "ZONE", help: "Time zone of the cron expression; --timezone=: UTC" },
      ...connection,
      json,
    },
    examples: ["millrace task update nightly.sh --cron '0 4 * * *' --timezone Europe/Berlin"],
  },
  "task rm": {
    summary: "Remove a task; jobs that it has started go on",
    details: "On a terminal you are asked first.",
    arguments: taskName,
    flags: { yes: yesOnTerminal, ...connection, json },
  },
  upcoming: {
    summary: "Show what fires next, schedules and tasks together, by time",
    details:
      "Times are shown in the time zone of --tz, of your profile (millrace user set --timezone), or of this machine.",
    arguments: {},
    flags: {
      limit: { kind: "integer", value: "N", min: 1, max: 200, help: "At most so many (default: 20)" },
      tz: { kind: "text", value: "ZONE", help: "Time zone to show times in, such as Europe/Berlin" },
      ...connection,
      json,
    },
    examples: ["millrace upcoming", "millrace upcoming --tz Asia/Tokyo --limit 50"],
  },
  "job clusters": { summary: "List the clusters that take jobs", arguments: {}, flags: { ...connection, json } },
  "dataset ls": {
    summary: "List datasets, each with its newest version",
    arguments: { NAME: { optional: true, help: "Only those whose name, short or in full, begins like this" } },
    flags: {
      versions: { kind: "switch", help: "List all the versions of each dataset" },
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
    summary: "Draw what a dataset was made from, and what was made from it",
    arguments: dataset,
    flags: {
      upstream: { kind: "switch", help: "Only what it was made from" },
      downstream: { kind: "switch", help: "Only what was made from it" },
      depth: { kind: "integer", value: "N", min: 1, max: 100, help: "At most so many steps away (default: 10)" },
      ...connection,
      json,
    },
  },
  "dataset edit": {
    summary: "Rename a dataset, or change what is said of it",
    details: "Scripts that read it by its old name do not find it any more.",
    arguments: { NAME: { help: "Dataset, short or in full" } },
    flags: {
      "new-name": { kind: "text", value: "NAME", help: "New name; namespace and project stay" },
      description: { kind: "text", value: "TEXT", help: "What it is; --description= removes it" },
      attrs: { kind: "list", value: "WORD", help: "Words, or NAME=VALUE, in the place of those it has" },
      "no-attrs": { kind: "switch", help: "Remove all of them" },
      ...connection,
      json,
    },
  },
  "dataset rm": {
    summary: "Remove a version, or with --force all versions",
    details:
      "The rows are gone for good; the number of a removed version is not given again. One version that you name is removed\n" +
      "without a question. With --force the versions are shown, and you are asked on a terminal; elsewhere --yes is needed.",
    arguments: dataset,
    flags: {
      version: { kind: "text", value: "VERSION", help: "The same as NAME@VERSION" },
      force: { kind: "switch", help: "Without a version: remove all of them" },
      yes,
      ...connection,
      json,
    },
    examples: ["millrace dataset rm cats@1.0.2", "millrace dataset rm cats --force --yes"],
  },
  "pipeline create": {
    summary: "Make a pipeline that rebuilds datasets and all that they were made from",
    details:
      "It is made paused, for you to look at (millrace pipeline status) and resume; with --run it begins at once. Short\n" +
      "names are those of your own namespace, @you.default; without @VERSION the latest version is meant.",
    arguments: { DATASET: { many: true, help: "name, project.name or namespace.project.name, perhaps with @1.2.3" } },
    flags: {
      ...connection,
      run: { kind: "switch", help: "Begin at once, without a review" },
      watch: { kind: "switch", short: "w", help: "With --run: watch it to its end" },
      json,
    },
    examples: ["millrace pipeline create final", "millrace pipeline create final@1.2.0 stats --run --watch"],
  },
  "pipeline status": {
    summary: "Show a pipeline and its runs",
    details:
      "With --watch to its end: redrawn on a terminal, else a line for each change. Exit codes then: 0 complete, 1 failed,\n" +
      "2 canceled. Ctrl-C stops watching; the pipeline goes on.",
    arguments: pipelineName,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline ls": pipelineList,
  "pipeline list": { ...pipelineList, summary: "The same as `pipeline ls`, as the datachain client has it" },
  "pipeline pause": {
    summary: "Pause a pipeline: what runs finishes, nothing begins",
    arguments: pipelineName,
    flags: { ...connection, json },
  },
  "pipeline resume": {
    summary: "Resume a pipeline: runs begin whose parents are done",
    arguments: pipelineName,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline remove-job": {
    summary: "Take a run that is PENDING out of a paused pipeline",
    details: "Those that waited for it wait for its parents instead.",
    arguments: pipelineJob,
    flags: { ...connection, json },
  },
  "pipeline settings": {
    summary: "Change what all runs get that have not begun",
    details:
      "Each setting takes the place of what the original jobs had, but for variables, which are added to theirs. An\n" +
      "empty value (--repository=, --req=, --files=) takes a setting back.",
    arguments: pipelineName,
    flags: {
      ...connection,
      "env-file": { kind: "text", value: "FILE", complete: "file", help: "File with NAME=VALUE lines" },
      env: { kind: "list", value: "NAME=VALUE", help: "Environment variables that every run gets" },
      "credentials-name": { kind: "list", short: "c", value: "NAME", help: "Credentials of every run" },
      workers: { kind: "integer", value: "N", min: 0, help: "Slots of the cluster that each run takes" },
      files: { kind: "list", value: "FILE", complete: "file", help: "Files that every run takes along" },
      "python-version": { kind: "text", value: "X.Y", help: "Python version, such as 3.12" },
      repository: { kind: "text", value: "URL", help: "Git repository to clone first; @revision may follow" },
      "req-file": { kind: "text", value: "FILE", complete: "file", help: "Python requirements file" },
      req: { kind: "list", value: "PACKAGE", help: "Python packages to install" },
      priority: { kind: "integer", value: "N", min: 0, max: 5, help: "0 runs first, 5 last" },
      "reuse-listings": { kind: "switch", help: "Runs may use listings of storages that are up to four hours old" },
      "list-anew": { kind: "switch", help: "Runs list storages anew (the default)" },
      ...retryFlags,
      json,
    },
    examples: ["millrace pipeline settings river-mill --python-version 3.12 --env DEBUG=1"],
  },
  "pipeline cancel": {
    summary: "Cancel a pipeline: what runs is ended, nothing begins",
    arguments: pipelineName,
    flags: { ...connection, json },
  },
  "pipeline rerun": {
    summary: "Run again what failed or was canceled; what is complete stays as it is",
    arguments: pipelineName,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline retry-job": {
    summary: "Run again one run that failed or was canceled, and nothing else",
    arguments: pipelineJob,
    flags: { ...connection, watch: watchFlag, json },
  },
  "pipeline backfill": {
    summary: "Run a copy of a pipeline for past moments",
    details:
      "Each run is told its moment (MILLRACE_SCHEDULED_AT, MILLRACE_SCHEDULED_DATE). They go on by themselves, also after a\n" +
      "restart of the server: millrace backfill show tells how far they are. At most 1000 moments.",
    arguments: pipelineName,
    flags: {
      from: { kind: "text", value: "TIME", help: "First moment: 2026-01-01 or 2026-01-01T06:00" },
      to: { kind: "text", value: "TIME", help: "Last moment, included where it is one; it has passed" },
      every: {
        kind: "text",
        value: "PERIOD",
        complete: everyWords,
        help: "hour, day (default), week, month, or a cron expression",
      },
      timezone: { kind: "text", value: "ZONE", help: "Time zone of the times and of the period (default: UTC)" },
      parallel: { kind: "integer", value: "N", min: 1, max: 100, help: "Runs side by side (default: 1, in order)" },
      "on-failure": {
        kind: "text",
        value: "POLICY",
        complete: failureWords,
        help: "When a run fails: stop (default), or continue with the other moments",
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
      limit: { kind: "integer", short: "l", value: "N", min: 1, max: 1000, help: "At most so many (default: 20)" },
      json,
    },
  },
  "backfill show": {
    summary: "Show a backfill and how each of its moments fares",
    arguments: backfillId,
    flags: { ...connection, json },
  },
  "backfill cancel": {
    summary: "Cancel a backfill: what runs is ended, nothing begins",
    arguments: backfillId,
    flags: { ...connection, json },
  },
  "backfill retry": {
    summary: "Run the moments again that failed or were canceled, and go on with those that had no run",
    arguments: backfillId,
    flags: { ...connection, json },
  },
  "pipeline hand-over": {
    summary: "Let runs that have not begun run as another user, with that user's rights and credentials",
    details: "To you or, as an admin of the team, to its service account; administrators of the server to anybody.",
    arguments: { ...pipelineName, USER: { help: "New owner" } },
    flags: { force, ...connection },
  },
  "schedule create": {
    summary: "Run a copy of a pipeline at its times",
    details:
      "The pipeline stays as it is, and need not run itself: millrace pipeline create makes one that is paused. Its copy\n" +
      "is shown by millrace schedule show, and takes millrace pipeline settings.",
    arguments: { NAME: { help: "Name of the new schedule" }, PIPELINE: { help: "Name of the pipeline to copy" } },
    flags: { ...scheduleFlags, owner, force, ...connection, json },
    examples: [
      "millrace schedule create nightly river-mill --cron '30 2 * * *' --timezone Europe/Berlin",
      "millrace schedule create once river-mill --start-time 'tomorrow 9am'",
      "millrace schedule create after-raw river-mill --on-dataset raw --quiet-for 10m",
    ],
  },
  "schedule update": {
    summary: "Change a schedule, pause it, or let it go on",
    details: "What is not named stays as it is; --cron=, --start-time= and --on-dataset= take one of them away.",
    arguments: scheduleName,
    flags: {
      name: { kind: "text", value: "NAME", help: "New name" },
      ...scheduleFlags,
      refresh: { kind: "switch", help: "Take the newest script that made each of its datasets" },
      pause: { kind: "switch", help: "It fires no more; what runs goes on" },
      resume: { kind: "switch", help: "It fires again, from its next tick on" },
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
    summary: "Delete a schedule; pipelines that it has started go on",
    details: "On a terminal you are asked first.",
    arguments: scheduleName,
    flags: { yes: yesOnTerminal, ...connection, json },
  },
  "schedule ls": {
    summary: "List schedules by name, with their health",
    arguments: {},
    flags: { ...connection, json },
  },
  "schedule show": {
    summary: "Show a schedule: its health, its next and last firings, its newest run, its copy of the pipeline",
    arguments: scheduleName,
    flags: { ...connection, json },
  },
  "webhook create": {
    summary: "Have a URL told what happens; a PING is sent at once",
    details:
      "Without --event and --job-status it is told every failure, recovery, skip and lateness. Without --secret-file a\n" +
      "secret is made, and shown once: docs/notifications.md has the recipe that checks signatures.",
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
  "webhook show": { summary: "Show a webhook and how it fares", arguments: webhookId, flags: { ...connection, json } },
  "webhook test": {
    summary: "Send a PING and show what became of it",
    arguments: webhookId,
    flags: { ...connection, json },
  },
  "webhook update": {
    summary: "Change a webhook, disable it, or enable it again",
    details: "What is not named stays as it is.",
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
    summary: "Delete a webhook and its deliveries; what waits is not sent",
    details: "On a terminal you are asked first.",
    arguments: webhookId,
    flags: { yes: yesOnTerminal, ...connection },
  },
  "webhook deliveries": {
    summary: "List deliveries to webhooks and e-mail addresses, newest first",
    arguments: { ID: { optional: true, help: "Only of this webhook" } },
    flags: {
      address: { kind: "text", value: "ADDRESS", help: "Only e-mails to this address" },
      status: { kind: "text", value: "STATUS", complete: deliveryWords, help: "pending, delivered or failed" },
      limit: { kind: "integer", value: "N", min: 1, max: 100, help: "At most so many (default: 20)" },
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
    summary: "Have an address told of events by e-mail, or change which",
    details:
      "A new address is told of all events unless --event names some. The operator sets up e-mail:\n" +
      "docs/notifications.md.",
    arguments: { ADDRESS: { help: "E-mail address" } },
    flags: { event: eventFlag, ...enabling, ...connection, json },
    examples: ["millrace notify set team@example.com --event pipeline.failure schedule.overdue"],
  },
  "notify ls": { summary: "List the addresses and what they are told", arguments: {}, flags: { ...connection, json } },
  "notify test": {
    summary: "Send an e-mail and show what became of it",
    arguments: { ADDRESS: { help: "E-mail address" } },
    flags: { ...connection, json },
  },
  "notify rm": {
    summary: "Send an address no more e-mails",
    arguments: { ADDRESS: { help: "E-mail address" } },
    flags: { ...connection },
  },
  "credentials ls": {
    summary: "List the credentials that your jobs may name, without their values",
    arguments: {},
    flags: { ...connection, json },
  },
  "credentials set": {
    summary: "Create credentials, or replace all their values",
    details:
      "The values are read as NAME=VALUE lines from --file, or from standard input where that is no terminal, or asked\n" +
      "for with --prompt without showing what is typed. They are never part of the command line, where others on the\n" +
      "same machine could see them. New values of the same variables are taken without a question; where variables of\n" +
      "the set would go, you are asked on a terminal, and elsewhere --yes is needed.",
    arguments: { NAME: { help: "Name of the set" } },
    flags: {
      ...connection,
      own,
      file: { kind: "text", value: "FILE", complete: "file", help: "File with NAME=VALUE lines" },
      prompt: { kind: "list", value: "VARIABLE", help: "Ask for the values of these variables" },
      plain: { kind: "list", value: "VARIABLE", help: "Not secret: shown in lists, not masked in logs" },
      yes,
    },
    examples: [
      "millrace credentials set aws --file aws.env --plain AWS_REGION",
      "millrace credentials set aws --own --prompt AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY",
    ],
  },
  "credentials rm": {
    summary: "Delete credentials; jobs that name them and have not begun will fail",
    details: "The values cannot be brought back: you are asked on a terminal, and elsewhere --yes is needed.",
    arguments: { NAME: { help: "Name of the set" } },
    flags: { ...connection, own, yes },
  },
  "credentials default": {
    summary: "Show which credentials jobs of the team get that name none, or choose them",
    arguments: { NAME: { optional: true, help: "A set of the team" } },
    flags: { ...connection, none: { kind: "switch", help: "Such jobs get none" } },
  },
  "storage ls": {
    summary: "List a folder, or what a pattern matches",
    details:
      "s3://, gs:// and az:// without a bucket list the buckets; gs:// needs the project in its client_config.\n" +
      "Patterns: * and ? within a folder, ** across folders, {a,b} and {1..9}, [classes].\n" +
      "Quote them in a shell; a backslash before one takes it for itself. What has the very name is listed, whatever\n" +
      "else that would match. A pattern that matches nothing is an error.",
    arguments: storageUri,
    flags: { recursive, "client-config": clientConfig, json },
    examples: ["millrace storage ls s3://bucket/data/", "millrace storage ls 's3://bucket/**/*.csv' --json"],
  },
  "storage cat": {
    summary: "Print the bytes of a file, or of a part of it",
    arguments: storageUri,
    flags: {
      start: { kind: "integer", value: "BYTE", min: 0, help: "First byte (default: 0)" },
      end: { kind: "integer", value: "BYTE", min: 0, help: "The byte after the last (default: the end)" },
      "client-config": clientConfig,
    },
  },
  "storage cp": {
    summary: "Copy a file, or with --recursive a folder",
    details:
      "A TO that ends with a slash, or is a folder, gets the name of FROM; with --recursive the files of FROM go below TO.\n" +
      "What is there is replaced. FROM may be - for standard input, and TO for standard output, which gets one file.",
    arguments: fromAndTo,
    flags: { recursive, ...bothConfigs, json },
    examples: [
      "millrace storage cp report.csv s3://bucket/reports/ --client-config @s3.json",
      "millrace storage cp -r s3://bucket/data/ data/",
    ],
  },
  "storage sync": {
    summary: "Make a folder like another: copy what is absent, differs in size, or is newer",
    details:
      "With --delete, what only TO has is removed: that is asked for on a terminal, and needs --yes elsewhere. Nothing is\n" +
      "asked when there is nothing to remove. --dry-run asks nothing and changes nothing. FROM must be a folder that is\n" +
      "there, or a bucket; it may be empty.\n" +
      "A copy has the time of its copying, so that syncing back copies everything once. In doubt a file is copied again:\n" +
      "when it was written in the very second of its copying, where a store tells whole seconds, or when the clock of TO\n" +
      "is behind.",
    arguments: fromAndTo,
    flags: {
      delete: { kind: "switch", help: "Remove what FROM does not have" },
      ...asksFirst,
      ...bothConfigs,
      json,
    },
    examples: ["millrace storage sync data/ s3://bucket/data/ --delete --dry-run"],
  },
  "storage rm": {
    summary: "Remove a file, or with --recursive a folder with all it holds",
    details:
      "One file is removed without a question. With --recursive the files are counted, and you are asked on a terminal;\n" +
      "elsewhere --yes is needed. --dry-run asks nothing and removes nothing. Removing what is not there is an error.",
    arguments: storageUri,
    flags: { recursive, ...asksFirst, "client-config": clientConfig, json },
  },
  "storage du": {
    summary: "Show how many files and bytes there are, in all and in each folder",
    arguments: storageUri,
    flags: { "client-config": clientConfig, json },
  },
  "storage stat": {
    summary: "Show what a storage knows of a file",
    arguments: storageUri,
    flags: { "client-config": clientConfig, json },
  },
  "storage explain": {
    summary: "Show every parameter of a storage: its value, where that comes from, what it does",
    details: "Nothing is sent. Secrets are masked.",
    arguments: storageUri,
    flags: { "client-config": clientConfig, json },
    examples: ["millrace storage explain s3://bucket --client-config @s3.json"],
  },
  backup: {
    summary: "Back up the store, the datasets, the uploads and the logs into a new folder, with the server up or down",
    details:
      "Holds the rows of one moment, and each team's dataset store as of a moment later, with every version that the\n" +
      "rows name. Jobs go on meanwhile. What it holds, and of when, is said at the end; exit code 1 if a team's store\n" +
      "could not be read and a daily copy is in its place. Read it back with `millrace backup verify DIR`.\n" +
      "The key of encrypted values (secret.key in the data folder) is left out unless --with-key is given: without it\n" +
      "credentials and the variables of jobs cannot be read again. Keep the key in another place than the backup.",
    arguments: { DIR: { help: "Folder to make; it must not be there yet", complete: "directory" } },
    flags: { "with-key": { kind: "switch", help: "Put the key of encrypted values in, too" }, ...serverFlags },
    examples: ["millrace backup /backups/millrace-2026-01-31 --data-dir /srv/millrace"],
  },
  "backup verify": {
    summary: "Read a backup back, all of it: digests, rows, dataset stores",
    details:
      "Puts the rows into a store and each team's datasets together in a temporary folder, as a restore would, looks for\n" +
      "every registered version, and removes it all. Needs neither a server nor its data folder.",
    arguments: { DIR: { help: "Folder of the backup", complete: "directory" } },
    flags: {
      "work-dir": {
        kind: "text",
        value: "DIR",
        complete: "directory",
        help: "Where the temporary folder is made; it needs room for the largest store (default: $TMPDIR)",
      },
      json,
    },
    examples: ["millrace backup verify /backups/millrace-2026-01-31"],
  },
  restore: {
    summary: "Restore a backup into an empty data folder, and an empty database where one is used",
    details:
      "Jobs that were running are FAILED. Jobs that waited run: also those that ran after the backup was made, once\n" +
      "more, unless --cancel-queued is given. A backup restores into either store, so this is also the way to move.",
    arguments: { DIR: { help: "Folder of the backup", complete: "directory" } },
    flags: {
      "cancel-queued": { kind: "switch", help: "Cancel the jobs that waited instead of running them" },
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
    summary: "Print a script that completes commands in a shell",
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

/** The parsed input that a command's handler receives. */
export interface Input<P extends CommandPath> {
  readonly flags: Flags<(typeof commands)[P]["flags"]> & Flags<typeof commonFlags>;
  readonly arguments: Arguments<(typeof commands)[P]["arguments"]>;
}
