/** Row types of every table. Times are ISO 8601 UTC text with milliseconds, so sorting the text sorts by time. */
import type {
  BackfillFailurePolicy,
  BackfillStatus,
  CatchUpPolicy,
  ClusterIsolation,
  ClusterState,
  DeliveryStatus,
  ExportStatus,
  FiringOutcome,
  FollowPolicy,
  JobStatus,
  OverlapPolicy,
  PipelineStatus,
  Role,
  WebhookFormat,
  WebhookMethod,
} from "@millrace/contract";
import type { Generated } from "kysely";

export interface Tables {
  users: UsersTable;
  teams: TeamsTable;
  memberships: { team_id: number; user_id: number; role: Role };
  tokens: TokensTable;
  sessions: { hash: string; user_id: number; created_at: string; expires_at: string };
  /** Browsers that have signed in before; one row for each pair of browser and user. */
  browsers: { hash: string; user_id: number; expires_at: string };
  /** The latest times at which the server trusted its clock: row 1 guards deletions, row 2 guards schedules. */
  clock_marks: { id: number; seen_at: string };
  invitations: InvitationsTable;
  sign_in_links: { hash: string; user_id: number; expires_at: string; used_at: string | null };
  device_logins: DeviceLoginsTable;
  /**
   * The audit log: who changed what, and from which address. Rows are never updated, only deleted when they are old.
   */
  audit: AuditTable;
  credentials: CredentialsTable;
  clusters: ClustersTable;
  /** The teams that may use a cluster that is not for all teams. */
  cluster_teams: { cluster_id: number; team_id: number };
  files: FilesTable;
  jobs: JobsTable;
  /**
   * Full specs of jobs whose spec is too long for lists. Only databases and backups older than schema version 8 have
   * rows.
   */
  large_specs: { job_id: string; spec: string };
  /** Long texts as JSON, keyed by SHA-256 and stored once per team. */
  texts: { team_id: number; hash: string; bytes: number; text: string };
  /** Maps each long field of a job's spec to its row in `texts`. */
  job_texts: { job_id: string; field: string; team_id: number; hash: string };
  /**
   * Jobs that wait for slots. A row exists from the job's creation until dispatch claims the job, so the table stays
   * small and dispatch never scans `jobs`.
   */
  queue: QueueTable;
  attempts: AttemptsTable;
  ended_attempts: EndedAttemptsTable;
  tasks: TasksTable;
  idempotency_keys: { team_id: number; user_id: number; key: string; job_id: string };
  /** Index of jobs by tag. The list of a job's tags is in its spec. */
  job_tags: { team_id: number; tag: string; job_id: string };
  namespaces: NamespacesTable;
  projects: ProjectsTable;
  datasets: DatasetsTable;
  dataset_versions: DatasetVersionsTable;
  /** What a version was built from: another version, or data at a storage URI. Exactly one of the two is set. */
  dataset_dependencies: { version_id: number; needs_version_id: number | null; needs_uri: string | null };
  /** The jobs that created a version, or found it complete and reused it. */
  dataset_version_jobs: { job_id: string; version_id: number; is_creator: number };
  exports: ExportsTable;
  team_stores: WarehousesTable;
  /** Bytes on disk per team and kind. `datasets` is null until the first measurement. */
  team_usage: {
    team_id: number;
    datasets: number | null;
    uploads: number;
    logs: number;
    texts: Generated<number>;
    exports: Generated<number>;
    environments: Generated<number>;
  };
  pipelines: PipelinesTable;
  pipeline_runs: PipelineRunsTable;
  /**
   * Edges between the runs of a pipeline. Both columns have ids of the original jobs, which the runs repeat, not of the
   * jobs created for the runs.
   */
  pipeline_edges: { pipeline_id: string; job_id: string; parent_job_id: string };
  schedules: SchedulesTable;
  firings: FiringsTable;
  schedule_notices: ScheduleNoticesTable;
  /** For a job that a scheduled run created: the ids of the schedules that led to it, as in `pipelines.chain`. */
  job_chains: { job_id: string; chain: string };
  backfills: BackfillsTable;
  /**
   * The scheduled times (moments) for which a backfill runs a pipeline, in order. `pipeline_id` is the pipeline started
   * for the moment, or null before that.
   */
  backfill_moments: { backfill_id: number; position: number; moment: string; pipeline_id: string | null };
  /** Webhooks and e-mail addresses that receive a team's events. */
  receivers: ReceiversTable;
  /**
   * Events that still have to be delivered, inserted in the same transaction as the change. A row is deleted when its
   * deliveries are created.
   */
  outbox: OutboxTable;
  deliveries: DeliveriesTable;
  /**
   * Subjects (a schedule, a task, or a job and its reruns) whose last reported state is a failure. The next success of
   * such a subject is reported as a recovery.
   */
  failing: { team_id: number; subject: string; since: string };
}

interface UsersTable {
  id: Generated<number>;
  username: string;
  first_name: string;
  last_name: string;
  email: string | null;
  /** Null if the user signs in with links and tokens only. */
  password_hash: string | null;
  /** 1 for administrators of the whole server, who can create users and teams. */
  is_admin: number;
  created_at: string;
  /** Time from which every token, session and password of this user is rejected; null while the account is enabled. */
  disabled_at: string | null;
  /** Team whose service account this is; null for a person. */
  service_team_id: Generated<number | null>;
  /** IANA time zone in which times are shown to the user; null if not set. */
  timezone: Generated<string | null>;
}

interface TeamsTable {
  id: Generated<number>;
  name: string;
  created_at: string;
  /** Quotas of the team; null means the server's default. */
  max_running: number | null;
  max_queued: number | null;
  max_tasks: number | null;
  max_schedules: number | null;
  max_dataset_bytes: number | null;
  max_upload_bytes: number | null;
  max_log_bytes: number | null;
  max_text_bytes: number | null;
  max_export_bytes: number | null;
  max_environment_bytes: number | null;
  /** Credentials given to jobs that name none; null means that these jobs get none. */
  default_credentials_id: number | null;
  /** Null means the default cluster of the server. */
  default_cluster_id: Generated<number | null>;
  /** Default version of the dataset library for jobs that pin none; null means the server's default. */
  library_version: string | null;
  /** Time limit in seconds of jobs that do not set their own; null means no limit. */
  job_timeout: Generated<number | null>;
  /** Number of retries of jobs that do not set their own; null means no retries. */
  job_retries: Generated<number | null>;
  /** Seconds until the first retry of jobs that do not set their own; null means the standard delay. */
  job_retry_delay: Generated<number | null>;
}

interface InvitationsTable {
  id: Generated<number>;
  hash: string;
  team_id: number;
  role: Role;
  /**
   * E-mail address of the invited person, as a note only: anyone with the link can accept the invitation. Empty if not
   * given.
   */
  email: string;
  created_by: number;
  created_at: string;
  expires_at: string;
  used_at: string | null;
  used_by: number | null;
  revoked_at: string | null;
}

interface AuditTable {
  id: Generated<number>;
  at: string;
  /** Null if the change was made with the command line on the server's machine. */
  user_id: number | null;
  /** The user's name at the time of the change. */
  username: string;
  /** How the user was authenticated: a named token, a browser session, a job's token or the command line. */
  via: string;
  address: string;
  action: string;
  team_id: number | null;
  target: string;
  detail: string;
}

/** A named set of variables that belongs to a team or to a user: exactly one of the two ids is set. */
interface CredentialsTable {
  id: Generated<number>;
  team_id: number | null;
  user_id: number | null;
  name: string;
  /** JSON array of the variables' names. A variable that is not secret is the object `{"plain": NAME}`. */
  variables: string;
  /** Encrypted JSON object of all values, including those that are not secret. */
  secret: string;
  created_at: string;
  updated_at: string;
}

interface TokensTable {
  id: Generated<number>;
  user_id: number;
  hash: string;
  name: string;
  /** JSON array of scopes. */
  scopes: string;
  /** JSON array of team ids; null means all teams of the user, including future ones. */
  team_ids: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
}

interface DeviceLoginsTable {
  device_hash: string;
  user_code: string;
  client_name: string;
  token_name: string;
  scopes: string;
  /** JSON array of the requested team names; null means all. */
  team_names: string | null;
  expires_in_days: number;
  status: "pending" | "approved" | "denied" | "used";
  /** The user who approved or denied the login; null before that. */
  user_id: number | null;
  /**
   * The scopes and team ids (JSON arrays) of the new token: the requested ones that the user has. Both are null unless
   * the login is approved. If only the team ids of an approved login are null, the token is valid for all teams of the
   * user.
   */
  granted_scopes: string | null;
  granted_team_ids: string | null;
  /** Expiry of the approving token; the new token expires no later. */
  granted_until: string | null;
  /**
   * Id of the approving token; null for a browser session. If it is revoked before the new token is fetched, no token
   * is issued.
   */
  granted_by: number | null;
  expires_at: string;
}

interface ClustersTable {
  id: Generated<number>;
  name: string;
  engine: string;
  isolation: ClusterIsolation;
  max_workers: number;
  /** 0 if the cluster was removed. Its row stays, because jobs refer to it. */
  is_active: number;
  is_default: number;
  /** What an administrator has set; whether the cluster can be reached is not stored. */
  state: Generated<ClusterState>;
  /** Options of the engine as JSON. */
  options: Generated<string>;
  /** Secrets of the engine as JSON, encrypted; empty if there are none. */
  secrets: Generated<string>;
  /** 1 if all teams may use the cluster, 0 if only those in `cluster_teams`. */
  is_shared: Generated<number>;
  /** 1 if an administrator lets several teams use a cluster that does not isolate jobs from each other. */
  shares_unisolated: Generated<number>;
}

interface FilesTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  filename: string;
  size: number;
  sha256: string;
  /** Name of the blob with the file's bytes. */
  blob: string;
  created_at: string;
  /** When a job first used the file; null if none has. */
  attached_at: string | null;
}

interface JobsTable {
  /** UUIDv7, so ids sort by creation time. */
  id: string;
  team_id: number;
  user_id: number;
  cluster_id: number;
  name: string | null;
  status: JobStatus;
  /** Fencing number: the number of the newest attempt, 0 before the first. */
  attempt: number;
  /** Number of failed attempts that were retried. */
  retried: Generated<number>;
  /**
   * The job's definition: JSON of the fields that never change, named as in the contract. Long fields are shortened to
   * what lists show.
   */
  spec: string;
  /** JSON array of the spec fields that are shortened here and stored in full in `texts`; empty if there are none. */
  cut: string;
  /** NAME=VALUE lines as submitted, encrypted; empty if there are none. */
  environment: string;
  /**
   * Encrypted JSON array of the credential values that the job received, which must be masked in its log. Empty if
   * there are none.
   */
  secrets: string;
  /** JSON array of the creator's scopes, which limit the job's own token. */
  scopes: string;
  /**
   * Id of the access token with which the job was created, or with which the job that created it was. Null if there is
   * none: a browser session, or the server itself for a task, a schedule or a backfill.
   */
  token_id: Generated<number | null>;
  metrics: string;
  exit_code: number | null;
  error_message: string | null;
  error_stack: string | null;
  steps: string | null;
  parent_job_id: string | null;
  /** The pipeline that this job is a run of; null for any other job. */
  pipeline_id: string | null;
  /**
   * If this job repeats another one (as a pipeline run, or as a job created by a task), the original job with the same
   * script. Null if this job repeats none.
   */
  origin_id: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** When the log and the job folder were deleted because of their age; null while they exist. */
  log_removed_at: string | null;
  /** Size of the job's logs on disk in bytes; null until counted. */
  log_bytes: number | null;
  /**
   * When the server decided, long after the end of the job, whether its long texts are still needed; null before that
   * decision.
   */
  texts_settled_at: Generated<string | null>;
}

interface QueueTable {
  job_id: string;
  team_id: number;
  cluster_id: number;
  priority: number;
  slots: number;
  passed_over: number;
  /**
   * Empty if the job waits only for slots; dispatch reads only these rows. If the job waits for a retry, the earliest
   * start of the retry. If the job waits for its files, the start of this wait or the time of the next download.
   */
  not_before: Generated<string>;
  /**
   * What the job waits for besides slots. `files`: its files must first be downloaded to this machine. `storage`: the
   * download failed. `disk`: there was no space for the files. After `storage` and `disk`, the download is tried again
   * at `not_before`. Otherwise empty.
   */
  waits_for: Generated<"" | "files" | "storage" | "disk">;
}

/** A failed attempt that was retried. */
interface EndedAttemptsTable {
  job_id: string;
  attempt: number;
  exit_code: number | null;
  error_message: string | null;
  error_stack: string | null;
  started_at: string | null;
  finished_at: string;
  /** Planned earliest start of the next attempt. */
  next_at: string;
}

/**
 * An open attempt. The row is committed before the engine starts the attempt and deleted when its result is accepted.
 */
interface AttemptsTable {
  job_id: string;
  team_id: number;
  attempt: number;
  cluster_id: number;
  slots: number;
  /** Id of the data folder whose server runs the attempt. */
  server_id: string;
  /**
   * Value of the engine that is stored before the engine receives the attempt. The local engine stores the machine's
   * boot id.
   */
  boot_id: string;
  /** Handle that the engine returned when it accepted the attempt; null if the engine returned none. */
  handle: Generated<string | null>;
  created_at: string;
  /** When the first signal of a cancellation was sent. */
  signalled_at: string | null;
  /** Time limit in seconds; null means that the attempt has no limit of its own. */
  timeout: Generated<number | null>;
  /** Bytes of the warehouse's growth that were charged to this attempt. */
  store_bytes: Generated<number>;
  /**
   * Largest size of the warehouse measured during this attempt, in bytes; null until the first measurement. Only growth
   * beyond this size is charged to the attempt.
   */
  store_peak: Generated<number | null>;
}

/** Tasks, which are jobs that create other jobs at set times. */
interface TasksTable {
  job_id: string;
  team_id: number;
  /** When the task creates its next job; null while the task is paused. */
  next_run: string | null;
  fired: number;
  /** Number of ticks (scheduled times) that created no job. */
  skips: Generated<number>;
  /** Why the newest tick created no job; null if it created one. */
  last_error: Generated<string | null>;
  /**
   * JSON with the user as whom the created jobs run; see domain/lifecycle/run-as.ts. Empty if they run as the task's
   * creator.
   */
  run_as: Generated<string>;
}

interface NamespacesTable {
  id: Generated<number>;
  team_id: number;
  uuid: string;
  name: string;
  description: string | null;
  created_at: string;
}

interface ProjectsTable {
  id: Generated<number>;
  namespace_id: number;
  uuid: string;
  name: string;
  description: string | null;
  created_at: string;
}

interface DatasetsTable {
  id: Generated<number>;
  team_id: number;
  project_id: number;
  uuid: string;
  name: string;
  description: string | null;
  /** JSON array of labels, each a word or name=value. */
  attrs: string;
  created_at: string;
}

/**
 * A version of a dataset. JSON columns are stored and returned as text and never parsed, because row values can exceed
 * the range of a JavaScript number.
 */
interface DatasetVersionsTable {
  id: Generated<number>;
  dataset_id: number;
  team_id: number;
  uuid: string;
  /** Version number, such as 1.0.2. It is stored as text and, for sorting, also as three integers. */
  version: string;
  major: number;
  minor: number;
  patch: number;
  /** Status code of the dataset library: 4 complete, 8 removed. Versions with another status are not stored. */
  status: number;
  /**
   * Table with the rows in the team's warehouse; null if an external producer registered the version and holds the
   * rows.
   */
  rows_table: string | null;
  num_objects: number | null;
  size: number | null;
  feature_schema: string;
  schema: string;
  /** JSON array of the first rows; null if there is no preview. */
  preview: string | null;
  sources: string;
  query_script: string;
  script_output: string;
  error_message: string;
  error_stack: string;
  content_hash: string | null;
  /** The job that created the version; null if none is known. */
  job_id: string | null;
  /**
   * Job whose script created the version: the creating job, or the original job if the creating job repeats one. Null
   * if this job is unknown or belongs to another team.
   */
  origin_job_id: Generated<string | null>;
  created_at: string;
  finished_at: string | null;
  removed_at: string | null;
}

/** A version's rows, copied to files that a client can download. */
interface ExportsTable {
  id: string;
  team_id: number;
  version_id: number;
  status: ExportStatus;
  num_files: number;
  files_done: number;
  /** Size on disk of the files written so far. */
  bytes: Generated<number>;
  error: string | null;
  created_at: string;
}

/** Maintenance state of a team's warehouse; the data itself is in files. */
interface WarehousesTable {
  team_id: number;
  /** When a job last used the warehouse. */
  used_at: string;
  tidied_at: string | null;
  /**
   * While set, no job of the team starts, so that its warehouse can be garbage-collected or restored. Null otherwise.
   */
  paused_at: string | null;
  backed_up_at: string | null;
}

interface PipelinesTable {
  /** UUIDv7, so ids sort by creation time. */
  id: string;
  team_id: number;
  user_id: number;
  /** Two short words, unique in the team. */
  name: string;
  status: PipelineStatus;
  /** 1 for a template pipeline, which never runs itself but is copied by a schedule or backfill. */
  is_template: number;
  /**
   * For a template pipeline, the schedule that uses it. For other pipelines, the schedule that fired them. Null if
   * there is none.
   */
  schedule_id: number | null;
  /** The scheduled time (moment) that the pipeline runs for; null if a person started it. */
  scheduled_at: string | null;
  /** Time zone that determines the date of `scheduled_at`; null if a person started the pipeline. */
  scheduled_timezone: string | null;
  /**
   * JSON array of the ids of the schedules that led to this pipeline, including its own; null if none did. To prevent
   * loops, versions that the pipeline creates do not fire these schedules.
   */
  chain: string | null;
  /** Full name of the first target, including its version. */
  triggered_from: string;
  /** JSON array of the full names of all targets, including their versions. */
  datasets: string;
  /**
   * JSON array of the targets as requested; a target has a version only if the request named one. Null if the request
   * named no versions.
   */
  asked: string | null;
  /** JSON object of the settings that apply to all runs. */
  settings: string;
  /** NAME=VALUE lines given to every run, encrypted; empty if there are none. */
  environment: string;
  /** JSON array of the scopes of the user who started the pipeline. */
  scopes: string;
  error_message: string | null;
  error_stack: string | null;
  /**
   * Number of runs whose jobs have not ended; at 0 the pipeline is over. The number is stored, so that the runs need
   * not be counted whenever a job ends.
   */
  open_runs: number;
  /**
   * JSON with the user as whom the runs execute; see domain/lifecycle/run-as.ts. If empty, each run executes as the
   * creator of the job that it repeats.
   */
  run_as: Generated<string>;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
}

interface PipelineRunsTable {
  pipeline_id: string;
  /** Topological order: parents come before their children. */
  position: number;
  /** The job that this run repeats. That job created the dataset. */
  job_id: string;
  /** The job created for this run; null in a template pipeline. */
  created_job_id: string | null;
  name: string;
  /** Number of parents that have not completed yet; at 0 the run can start. */
  waits_for: number;
}

interface SchedulesTable {
  id: Generated<number>;
  team_id: number;
  /** Owner of the schedule. */
  user_id: number;
  /** Creator of the schedule, if the owner is a different user now; null otherwise. */
  created_by: Generated<number | null>;
  name: string;
  /** Template pipeline that is copied each time the schedule fires. */
  pipeline_id: string;
  start_after: string | null;
  cron_expression: string | null;
  /** IANA time zone of the cron expression. */
  timezone: string;
  overlap: OverlapPolicy;
  catch_up: CatchUpPolicy;
  /** Whether each firing first switches to the newest scripts. */
  follow: Generated<FollowPolicy>;
  is_paused: number;
  /** Next time that the schedule fires; null if it is paused or has ended. */
  next_run: string | null;
  /** Scheduled time (tick) that starts a run only when the newest run has ended; null if no tick waits. */
  waiting_since: string | null;
  latest_pipeline_id: string | null;
  fired: number;
  /** Why the newest tick (scheduled time) started no pipeline although it was due; null otherwise. */
  last_error: string | null;
  /**
   * Dataset whose new versions fire the schedule, once no further version has come for `quiet_seconds`. Null if no
   * dataset fires the schedule.
   */
  trigger_dataset_id: number | null;
  quiet_seconds: Generated<number>;
  created_at: string;
  updated_at: string;
  /** Number of skipped ticks (scheduled times) in total. */
  skips: Generated<number>;
  /** Number of ticks skipped in a row since the last tick that started a pipeline. */
  skips_in_row: Generated<number>;
  /** Reason for the newest skip; null if the newest tick was not skipped. */
  skip_reason: Generated<string | null>;
  /** Date of the last notification about the current series of skips; null if the next skip starts a new series. */
  skip_told_on: Generated<string | null>;
  /** Value of `skips` at the last notification. */
  skips_told: Generated<number>;
  /** Number of failures (failed runs and ticks that could not run) since the last completed run. */
  failures_in_row: Generated<number>;
  /** Reason for the newest failure since the last completed run; null if there was none. */
  failure_reason: Generated<string | null>;
  /**
   * Who paused or resumed the schedule, as JSON of the audit log's actor, while some of its pipelines are still to be
   * paused or resumed with it; null otherwise.
   */
  switching: Generated<string | null>;
}

/**
 * Outcome of one tick (scheduled time) of a schedule, or of several in a row. Only the newest rows of each schedule are
 * kept.
 */
interface FiringsTable {
  id: Generated<number>;
  schedule_id: number;
  tick: string;
  ticks: number;
  at: string;
  outcome: FiringOutcome;
  reason: string | null;
  pipeline_id: string | null;
}

/**
 * A pending trigger: the schedule's dataset has new versions. Registering a version inserts or updates the row; firing
 * the schedule deletes it.
 */
interface ScheduleNoticesTable {
  schedule_id: number;
  team_id: number;
  /** Full name of the newest version. */
  version: string;
  /** JSON array of the schedules that led to any of the new versions, as in `pipelines.chain`. */
  chain: string;
  noticed_at: string;
  /** When the schedule fires, if no further version comes before that. */
  due_at: string;
}

interface BackfillsTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  /** Template pipeline that is copied for each moment (scheduled time) of the backfill. */
  pipeline_id: string;
  /** Name of the pipeline that the backfill was created from. */
  source_name: string;
  cron_expression: string;
  /** IANA time zone of the cron expression. */
  timezone: string;
  from_moment: string;
  to_moment: string;
  /** How many runs may be active at the same time. */
  parallel: number;
  on_failure: BackfillFailurePolicy;
  status: BackfillStatus;
  total: number;
  /** Why the run for the next moment (scheduled time) could not be started; null otherwise. */
  last_error: string | null;
  /** Who is canceling the backfill, as JSON of the audit log's actor; null if nobody is. */
  canceling: Generated<string | null>;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
}

interface ReceiversTable {
  id: Generated<number>;
  team_id: number;
  kind: "webhook" | "mail";
  /** Origin of a webhook's URL, or an e-mail address. */
  address: string;
  /** For a webhook: encrypted JSON with the URL, which may itself be secret, and the signing key. */
  secret: string;
  format: WebhookFormat;
  method: WebhookMethod;
  verify_tls: number;
  /** JSON array of the events that the receiver subscribed to. */
  events: string;
  /** JSON array of the job statuses that the receiver subscribed to. */
  job_statuses: string;
  /** The subscription as words with a space around each, so that it can be searched: ` job:FAILED pipeline:FAILED `. */
  wanted: string;
  /** Failed delivery attempts in a row. */
  failures: number;
  /** End of the back-off after a failure, before which nothing is sent to the receiver. Null if there is none. */
  rests_until: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
  /** Number of events that were dropped because too many deliveries were pending. */
  dropped: number;
  created_at: string;
  updated_at: string;
}

interface OutboxTable {
  id: Generated<number>;
  team_id: number;
  kind: "job" | "pipeline" | "schedule";
  /** Id of the job, pipeline or schedule. */
  subject: string;
  name: string | null;
  /** New status of the job or pipeline; for a schedule, the outcome of the tick (scheduled time). */
  status: string;
  message: string | null;
  /** Time of the event; null means the time at which the row is read. */
  at: string | null;
  /** When the job or pipeline was created; null for a schedule. */
  created_at: string | null;
}

interface DeliveriesTable {
  /** UUIDv7 that is sent to the receiver, the same in every attempt. */
  id: string;
  team_id: number;
  receiver_id: number;
  /** Kind of event, as sent in a request header. */
  kind: "JOB" | "PIPELINE" | "SCHEDULE" | "PING";
  /** Name of the event, such as `job FAILED` or `schedule.skip`. */
  event: string;
  /** The event in one sentence. */
  title: string;
  /** The exact bytes to send. */
  body: string;
  status: DeliveryStatus;
  attempts: number;
  /**
   * Time of the next attempt. During an attempt, the time at which the delivery is sent again if the attempt reports no
   * result. Null if the delivery has ended or its receiver is disabled.
   */
  next_at: string | null;
  response_status: number | null;
  error: string | null;
  created_at: string;
  attempted_at: string | null;
  finished_at: string | null;
}
