/** The rows of the store. Times are ISO 8601 UTC text with milliseconds, so that text order is time order. */
import type {
  BackfillFailurePolicy,
  BackfillStatus,
  CatchUpPolicy,
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
  /** Browsers that signed in before, each for every user to whom it is known. */
  browsers: { hash: string; user_id: number; expires_at: string };
  /** One row: the newest time at which the clock was believed. */
  clock_marks: { id: number; seen_at: string };
  invitations: InvitationsTable;
  sign_in_links: { hash: string; user_id: number; expires_at: string; used_at: string | null };
  device_logins: DeviceLoginsTable;
  /** What was changed, by whom, from where. Rows are only ever added, and removed by age. */
  audit: AuditTable;
  credentials: CredentialsTable;
  clusters: ClustersTable;
  files: FilesTable;
  jobs: JobsTable;
  /** Of stores before version 8, and backups of them: what jobs are whose spec is too long for lists, in full. */
  large_specs: { job_id: string; spec: string };
  /** Long texts, each once for its team, as JSON, by their SHA-256. */
  texts: { team_id: number; hash: string; bytes: number; text: string };
  /** What is long of jobs: which text each such field of a spec is. */
  job_texts: { job_id: string; field: string; team_id: number; hash: string };
  /** Jobs that wait for slots; a row lives from creation to claim. Small, so that dispatch never scans `jobs`. */
  queue: QueueTable;
  attempts: AttemptsTable;
  ended_attempts: EndedAttemptsTable;
  tasks: TasksTable;
  idempotency_keys: { team_id: number; user_id: number; key: string; job_id: string };
  /** Tags of jobs, for finding them; the job's own list is in its spec. */
  job_tags: { team_id: number; tag: string; job_id: string };
  namespaces: NamespacesTable;
  projects: ProjectsTable;
  datasets: DatasetsTable;
  dataset_versions: DatasetVersionsTable;
  /** What a version was made from: another version, or whatever lies at a storage URI. One of the two is set. */
  dataset_dependencies: { version_id: number; needs_version_id: number | null; needs_uri: string | null };
  /** Which jobs made a version, or found it made and reused it. */
  dataset_version_jobs: { job_id: string; version_id: number; is_creator: number };
  exports: ExportsTable;
  team_stores: WarehousesTable;
  /** Bytes on disk; null: not measured since there are measures. */
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
  /** Edges of a pipeline's graph, by the original jobs' ids. */
  pipeline_edges: { pipeline_id: string; job_id: string; parent_job_id: string };
  schedules: SchedulesTable;
  firings: FiringsTable;
  schedule_notices: ScheduleNoticesTable;
  /** Of jobs that runs of schedules created: as of a pipeline. */
  job_chains: { job_id: string; chain: string };
  backfills: BackfillsTable;
  /** The moments of a backfill in their order, each with the pipeline that was started for it; null: none yet. */
  backfill_moments: { backfill_id: number; position: number; moment: string; pipeline_id: string | null };
  /** Who is told what happens: webhooks, and e-mail addresses of a team. */
  receivers: ReceiversTable;
  /** What happened and is still to be told, written with the change itself; a row lives until it became deliveries. */
  outbox: OutboxTable;
  deliveries: DeliveriesTable;
  /** What failed when it was last told of: its next success is a recovery. */
  failing: { team_id: number; subject: string; since: string };
}

interface UsersTable {
  id: Generated<number>;
  username: string;
  first_name: string;
  last_name: string;
  email: string | null;
  /** Null: signs in by links and tokens only. */
  password_hash: string | null;
  /** Of the whole server: makes users and teams. */
  is_admin: number;
  created_at: string;
  /** From then on no token, session or password of this user works. */
  disabled_at: string | null;
  /** The team whose service account this is; null: a person. */
  service_team_id: Generated<number | null>;
  /** IANA name, in which times are shown; null: none was said. */
  timezone: Generated<string | null>;
}

interface TeamsTable {
  id: Generated<number>;
  name: string;
  created_at: string;
  /** Quotas; null: the server's default. */
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
  /** Given to jobs that name no credentials. */
  default_credentials_id: number | null;
  /** Version of the dataset library that its jobs get which name none; null: the server's default. */
  library_version: string | null;
  /** For jobs that say nothing; times in seconds. Null: no limit, no retries, the usual delay. */
  job_timeout: Generated<number | null>;
  job_retries: Generated<number | null>;
  job_retry_delay: Generated<number | null>;
}

interface InvitationsTable {
  id: Generated<number>;
  hash: string;
  team_id: number;
  role: Role;
  /** For whom, as a note; empty: whoever has the link. */
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
  /** Null: somebody on the machine itself, who may open the store. */
  user_id: number | null;
  /** As it was then. */
  username: string;
  /** With what: a token by name, a browser session, a job's token, the command line. */
  via: string;
  address: string;
  action: string;
  team_id: number | null;
  target: string;
  detail: string;
}

/** A named set of variables. Of a team, or of a user: one of the two ids is set. */
interface CredentialsTable {
  id: Generated<number>;
  team_id: number | null;
  user_id: number | null;
  name: string;
  /** JSON array of the variables' names; one that is not secret is an object, `{"plain": NAME}`. */
  variables: string;
  /** Encrypted JSON object of all values, also of those that are not secret. */
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
  /** JSON array of team ids; null: all teams of the user, also later ones. */
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
  /** JSON array of names as asked for; null: all. */
  team_names: string | null;
  expires_in_days: number;
  status: "pending" | "approved" | "denied" | "used";
  /** Who approved, and how far that person's own rights reached. */
  user_id: number | null;
  granted_scopes: string | null;
  granted_team_ids: string | null;
  /** When the approving token ends: the new one ends no later. */
  granted_until: string | null;
  /** The approving token; null: a browser session. Revoked before the new one is fetched, it takes that along. */
  granted_by: number | null;
  expires_at: string;
}

interface ClustersTable {
  id: Generated<number>;
  name: string;
  engine: string;
  isolation: "none" | "uid" | "bwrap";
  max_workers: number;
  is_active: number;
  is_default: number;
}

interface FilesTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  filename: string;
  size: number;
  sha256: string;
  /** Name of its bytes in the data folder. */
  blob: string;
  created_at: string;
  /** When a job first took it along; null: unused so far. */
  attached_at: string | null;
}

interface JobsTable {
  /** UUIDv7: order of ids is order of creation. */
  id: string;
  team_id: number;
  user_id: number;
  cluster_id: number;
  name: string | null;
  status: JobStatus;
  /** The fence: number of the newest attempt, 0 before the first. */
  attempt: number;
  /** Attempts that failed and that another one followed. */
  retried: Generated<number>;
  /**
   * What the job is: JSON of the fields that never change, in the words of the contract, as far as lists show them.
   * Beside it, how it fares.
   */
  spec: string;
  /** JSON array of the fields of the spec that are whole in `texts` only; empty: none. */
  cut: string;
  /** NAME=VALUE lines as they came, encrypted; empty for none. */
  environment: string;
  /** Encrypted JSON array of the credentials' values that the job was given: what its log must not show. Empty for none. */
  secrets: string;
  /** JSON array of its creator's scopes: the job's own token reaches no further. */
  scopes: string;
  metrics: string;
  exit_code: number | null;
  error_message: string | null;
  error_stack: string | null;
  steps: string | null;
  parent_job_id: string | null;
  /** The pipeline whose run this is. */
  pipeline_id: string | null;
  /** The job that it repeats, for a pipeline or a task: the first of them, whose script it is. Null: its own. */
  origin_id: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  /** When its log and folder were removed for their age. */
  log_removed_at: string | null;
  /** What its logs take on disk; null: not counted yet. */
  log_bytes: number | null;
  /** When it was decided, long after its end, whether anybody still needs its long texts. */
  texts_settled_at: Generated<string | null>;
}

interface QueueTable {
  job_id: string;
  team_id: number;
  cluster_id: number;
  priority: number;
  slots: number;
  passed_over: number;
  /** A retry waits until then; empty: it waits for slots only. */
  not_before: Generated<string>;
}

/** An attempt that failed and that another one followed. */
interface EndedAttemptsTable {
  job_id: string;
  attempt: number;
  exit_code: number | null;
  error_message: string | null;
  error_stack: string | null;
  started_at: string | null;
  finished_at: string;
  /** From when on the next one might begin, as it was planned. */
  next_at: string;
}

/** A row lives from the commit before the start to the acceptance of the result. */
interface AttemptsTable {
  job_id: string;
  team_id: number;
  attempt: number;
  cluster_id: number;
  slots: number;
  /** The data folder whose server runs it. */
  server_id: string;
  /** What the engine wanted kept with it before it was handed over: of the local engine, the boot of the machine. */
  boot_id: string;
  /** What the engine answered when it took the attempt; null: nothing, its key is enough. */
  handle: Generated<string | null>;
  created_at: string;
  /** When the first signal of a cancellation was sent. */
  signalled_at: string | null;
  /** Seconds that it may run; null: no limit of its own. */
  timeout: Generated<number | null>;
  /** Its share of what the team's warehouse grew by while it ran. */
  store_bytes: Generated<number>;
  /** The largest size of that store while it worked with it; null: it has not been measured since. */
  store_peak: Generated<number | null>;
}

/** Jobs that fire others: when next. */
interface TasksTable {
  job_id: string;
  team_id: number;
  /** Null: paused. */
  next_run: string | null;
  fired: number;
  /** Ticks that fired nothing; why the newest tick did not, null once one did again. */
  skips: Generated<number>;
  last_error: Generated<string | null>;
  /** As whom it fires: domain/lifecycle/run-as.ts. */
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
  /** JSON array of words, or of name=value. */
  attrs: string;
  created_at: string;
}

/**
 * A version of a dataset. What is JSON here is kept and answered as text and never read into numbers: row values reach
 * beyond what a JavaScript number holds.
 */
interface DatasetVersionsTable {
  id: Generated<number>;
  dataset_id: number;
  team_id: number;
  uuid: string;
  /** A version number in three parts, as text and as numbers to sort by. */
  version: string;
  major: number;
  minor: number;
  patch: number;
  /** In the library's own numbers: 4 complete, 8 removed; others are not kept. */
  status: number;
  /** Of the team's warehouse; null: registered by whoever made it, rows lie elsewhere. */
  rows_table: string | null;
  num_objects: number | null;
  size: number | null;
  feature_schema: string;
  schema: string;
  /** JSON array of the first rows; null: none. */
  preview: string | null;
  sources: string;
  query_script: string;
  script_output: string;
  error_message: string;
  error_stack: string;
  content_hash: string | null;
  /** The job that made it; null: nobody's. */
  job_id: string | null;
  /** The job whose script made it: the one that its maker repeats, or the maker itself. Null: no job of the team. */
  origin_job_id: Generated<string | null>;
  created_at: string;
  finished_at: string | null;
  removed_at: string | null;
}

/** A copy of a version's rows as files for a client to fetch. */
interface ExportsTable {
  id: string;
  team_id: number;
  version_id: number;
  status: ExportStatus;
  num_files: number;
  files_done: number;
  /** Of the files that are there, on disk. */
  bytes: Generated<number>;
  error: string | null;
  created_at: string;
}

/** What is known of a team's warehouse of rows beside the files themselves. */
interface WarehousesTable {
  team_id: number;
  /** When a job last worked with it. */
  used_at: string;
  tidied_at: string | null;
  /** Until its garbage is collected no job of the team begins. */
  paused_at: string | null;
  backed_up_at: string | null;
}

interface PipelinesTable {
  /** UUIDv7, as for jobs. */
  id: string;
  team_id: number;
  user_id: number;
  /** Two short words, unique in the team. */
  name: string;
  status: PipelineStatus;
  /** Of a schedule: never runs itself. */
  is_template: number;
  /** For a template its schedule, for a firing the schedule that fired it. */
  schedule_id: number | null;
  /** The moment that it is for, and the time zone in which that has its date; null: it was asked for by hand. */
  scheduled_at: string | null;
  scheduled_timezone: string | null;
  /** JSON array of the schedules whose runs led to this one, itself included: what it makes fires none of them. */
  chain: string | null;
  /** The first target, in full with its version. */
  triggered_from: string;
  /** JSON array of all targets, in full with their versions. */
  datasets: string;
  /** The same as they were asked for, with a version only where one was named; null: no version was named. */
  asked: string | null;
  /** JSON object: what was set for all its runs. */
  settings: string;
  /** NAME=VALUE lines that every run gets, encrypted; empty for none. */
  environment: string;
  /** JSON array of the scopes of whoever triggered it. */
  scopes: string;
  error_message: string | null;
  error_stack: string | null;
  /** Runs whose jobs have not ended: at 0 it is over. Kept, so that the end of a job need not count them. */
  open_runs: number;
  /** As whom its runs run, where that is not who made the originals: domain/lifecycle/run-as.ts. Empty: nobody else. */
  run_as: Generated<string>;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
}

interface PipelineRunsTable {
  pipeline_id: string;
  /** Parents before children. */
  position: number;
  /** The job that originally made the dataset. */
  job_id: string;
  /** The draft that runs; null in a template. */
  created_job_id: string | null;
  name: string;
  /** Parents that have not ended well yet: at 0 it may begin. */
  waits_for: number;
}

interface SchedulesTable {
  id: Generated<number>;
  team_id: number;
  /** Its owner. */
  user_id: number;
  /** Who made it, where the owner is somebody else now. */
  created_by: Generated<number | null>;
  name: string;
  /** Its template. */
  pipeline_id: string;
  start_after: string | null;
  cron_expression: string | null;
  /** IANA name. */
  timezone: string;
  overlap: OverlapPolicy;
  catch_up: CatchUpPolicy;
  /** Whether each firing first takes the newest scripts. */
  follow: Generated<FollowPolicy>;
  is_paused: number;
  /** Null: paused, or over. */
  next_run: string | null;
  /** The tick that waits for the end of the newest run. */
  waiting_since: string | null;
  latest_pipeline_id: string | null;
  fired: number;
  /** Why the newest tick fired nothing, where it should have. */
  last_error: string | null;
  /** New versions of it fire the schedule, once nothing has come for so long. */
  trigger_dataset_id: number | null;
  quiet_seconds: Generated<number>;
  created_at: string;
  updated_at: string;
  /** Ticks that came to nothing, of all times, and since the last that began; and why the newest of those did. */
  skips: Generated<number>;
  skips_in_row: Generated<number>;
  skip_reason: Generated<string | null>;
  /** Of the row of skips: the date of the one that was told last; null: the next one is the first of a row. */
  skip_told_on: Generated<string | null>;
  /** What `skips` was when one was told last. */
  skips_told: Generated<number>;
  /** Runs that failed and ticks that could not run, since the last run that completed; and why the newest of them did. */
  failures_in_row: Generated<number>;
  failure_reason: Generated<string | null>;
}

/** What became of a tick of a schedule, or of several. The newest of each schedule are kept. */
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

/** A schedule's dataset has a new version: written with it, taken by the firing. One for all versions that came since. */
interface ScheduleNoticesTable {
  schedule_id: number;
  team_id: number;
  /** The newest, in full. */
  version: string;
  /** JSON array, as of a pipeline: of all versions that came. */
  chain: string;
  noticed_at: string;
  /** When it has been quiet for long enough, if nothing else comes. */
  due_at: string;
}

interface BackfillsTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  /** Its template. */
  pipeline_id: string;
  /** The pipeline that was copied. */
  source_name: string;
  cron_expression: string;
  /** IANA name. */
  timezone: string;
  from_moment: string;
  to_moment: string;
  /** How many runs may go side by side. */
  parallel: number;
  on_failure: BackfillFailurePolicy;
  status: BackfillStatus;
  total: number;
  /** Why the next moment could not begin, where it should have. */
  last_error: string | null;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
}

interface ReceiversTable {
  id: Generated<number>;
  team_id: number;
  kind: "webhook" | "mail";
  /** Of a webhook the origin of its URL, of e-mail the address. */
  address: string;
  /** Of a webhook, encrypted: JSON of its URL, which may be a secret itself, and of what signs its requests. */
  secret: string;
  format: WebhookFormat;
  method: WebhookMethod;
  verify_tls: number;
  /** JSON arrays: what was asked for. */
  events: string;
  job_statuses: string;
  /** What of it the outbox has to take, as words between blanks: ` job:FAILED pipeline:FAILED `. */
  wanted: string;
  /** Attempts that failed since the last one that did not. */
  failures: number;
  /** After a failure nothing is sent to it for a while. */
  rests_until: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
  /** Events that found too many others waiting. */
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
  /** The state that a job or pipeline reached; of a schedule what became of a tick. */
  status: string;
  message: string | null;
  /** Null: just now. */
  at: string | null;
  /** Of the job or pipeline. */
  created_at: string | null;
}

interface DeliveriesTable {
  /** UUIDv7; receivers see it, the same in every attempt. */
  id: string;
  team_id: number;
  receiver_id: number;
  /** Of the header that names it. */
  kind: "JOB" | "PIPELINE" | "SCHEDULE" | "PING";
  /** Such as `job FAILED` or `schedule.skip`. */
  event: string;
  /** As a sentence. */
  title: string;
  /** What is sent, byte by byte. */
  body: string;
  status: DeliveryStatus;
  attempts: number;
  /** When it is sent, or sent again should the attempt under way not end. Null: it ended, or its receiver is disabled. */
  next_at: string | null;
  response_status: number | null;
  error: string | null;
  created_at: string;
  attempted_at: string | null;
  finished_at: string | null;
}
