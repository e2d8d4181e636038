/**
 * Every command with its arguments and flags, as data. Parsing, help, suggestions and shell completion are all
 * derived from this table, so they cannot disagree. Where the `datachain` client has the same command, its flags
 * have the same names and meanings here.
 */

import type { JobStatus } from "@millrace/contract";

/** What a shell may offer for a value: files, folders, or one of these words. */
export type Completion = "file" | "directory" | readonly string[];

export interface Flag {
  /** `list` takes several values after one flag (`--req a b`), and may be repeated. */
  readonly kind: "switch" | "text" | "integer" | "list";
  readonly help: string;
  readonly short?: string;
  /** How the value is called in help. */
  readonly value?: string;
  readonly min?: number;
  readonly max?: number;
  readonly complete?: Completion;
}

interface Argument {
  readonly help: string;
  readonly optional?: true;
  readonly complete?: Completion;
}

export interface Command {
  readonly summary: string;
  /** More than the summary can say: shown by `--help` below it. */
  readonly details?: string;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples?: readonly string[];
}

/** Words that stand before other commands. */
export const groups = {
  auth: "Sign in and out, and choose a team",
  admin: "Make tokens and sign-in links on the server's own machine",
  job: "Run jobs, follow their logs, list and cancel them",
} as const;

/** Taken by every command. */
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
const jobId = { ID: { help: "Job id, or the start of a recent one (6 characters or more)" } } as const;

/** Offered by completion; the server knows them all. */
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

const followFlags = {
  "no-wait": { kind: "switch", help: "Do not wait for the job to finish; print its id" },
  "no-follow": { kind: "switch", help: "Wait, but do not print the log" },
  json: { kind: "switch", help: "Print the job as JSON at the end, instead of its log" },
} as const satisfies Record<string, Flag>;

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
  "job run": {
    summary: "Run a file as a job and follow it",
    details:
      "A .py file runs in Python, a .ts file in TypeScript, anything else in a shell. Exit codes: 0 complete, 1 failed,\n" +
      "2 canceled, 4 sign-in needed. Ctrl-C stops following; the job goes on. With --start-time or --cron the job is\n" +
      "kept as a task that starts it later.",
    arguments: { FILE: { help: "The script to run", complete: "file" } },
    flags: {
      ...connection,
      "env-file": { kind: "text", value: "FILE", complete: "file", help: "File with NAME=VALUE lines" },
      env: { kind: "list", value: "NAME=VALUE", help: "Environment variables of the job" },
      cluster: { kind: "text", value: "NAME", help: "Compute cluster to run on" },
      "credentials-name": { kind: "text", short: "c", value: "NAME", help: "Credentials that the job gets" },
      workers: { kind: "integer", value: "N", min: 0, help: "Slots of the cluster that the job takes" },
      files: { kind: "list", value: "FILE", complete: "file", help: "Files to take along, into the job's folder" },
      "python-version": { kind: "text", value: "X.Y", help: "Python version, such as 3.12" },
      repository: { kind: "text", value: "URL", help: "Git repository to clone first; @revision may follow" },
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
      "ignore-checkpoints": { kind: "switch", help: "Start from scratch, not from checkpoints" },
      ...followFlags,
    },
    examples: [
      "millrace job run query.py --req pandas pyarrow --env DEBUG=1",
      "millrace job run nightly.sh --cron '0 3 * * *'",
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
    },
  },
  "job show": {
    summary: "Show everything about a job: settings, stages, result",
    arguments: jobId,
    flags: { ...connection, json },
  },
  "job cancel": {
    summary: "Cancel a job that waits or runs, or stop a task",
    arguments: jobId,
    flags: connection,
  },
  "job rerun": {
    summary: "Run a job again with the same settings, and follow it",
    details:
      "Continues from the checkpoints of the first run where there are any; exit codes as for `millrace job run`.",
    arguments: jobId,
    flags: {
      ...connection,
      "ignore-checkpoints": { kind: "switch", help: "Start from scratch, not from checkpoints" },
      ...followFlags,
    },
  },
  "job clusters": { summary: "List the clusters that take jobs", arguments: {}, flags: { ...connection, json } },
  backup: {
    summary: "Back up the store, the uploads and the logs into a new folder, whether the server runs or not",
    details:
      "The key of encrypted values (secret.key in the data folder) is left out unless --with-key is given: without it\n" +
      "credentials and the variables of jobs cannot be read again. Keep the key in another place than the backup.",
    arguments: { DIR: { help: "Folder to make; it must not be there yet", complete: "directory" } },
    flags: { "with-key": { kind: "switch", help: "Put the key of encrypted values in, too" }, ...serverFlags },
    examples: ["millrace backup /backups/millrace-2026-01-31 --data-dir /srv/millrace"],
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
}[F["kind"]];

type Flags<Table> = { readonly [N in keyof Table]: Table[N] extends Flag ? FlagValue<Table[N]> : never };
type Arguments<Table> = {
  readonly [N in keyof Table]: Table[N] extends { optional: true } ? string | undefined : string;
};

/** What a command gets after parsing. */
export interface Input<P extends CommandPath> {
  readonly flags: Flags<(typeof commands)[P]["flags"]> & Flags<typeof commonFlags>;
  readonly arguments: Arguments<(typeof commands)[P]["arguments"]>;
}
