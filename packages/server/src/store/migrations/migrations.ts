/**
 * Forward-only migrations, written once for SQLite and PostgreSQL. A program older than its database refuses to start.
 */
import { type Kysely, sql } from "kysely";
import type { Dialect } from "../drivers/prepare.ts";
import { shareSpecs } from "../queries/jobs/job-texts.ts";
import type { Tables } from "../schema/tables.ts";
import { attemptHandles } from "./attempt-handles.ts";
import { boundedReads } from "./bounded-reads.ts";
import { cancelingBackfills } from "./canceling-backfills.ts";
import { countedVariables } from "./counted-variables.ts";
import { lookups } from "./lookups.ts";
import { managedClusters } from "./managed-clusters.ts";
import { momentsAndTriggers } from "./moments-and-triggers.ts";
import { rememberedTokens } from "./remembered-tokens.ts";
import { scheduleHealth } from "./schedule-health.ts";
import { switchingSchedules } from "./switching-schedules.ts";
import { timeLimitsAndRetries } from "./time-limits-and-retries.ts";
import { toldSkips } from "./told-skips.ts";
import { waitsForFiles } from "./waits-for-files.ts";
import { webhooks } from "./webhooks.ts";

type Migration = (db: Kysely<Tables>, dialect: Dialect) => Promise<void>;

const migrations: readonly Migration[] = [
  first,
  manyTeams,
  datasets,
  largeSpecs,
  signInsAndClocks,
  teamUsage,
  warehousePeaks,
  sharedTexts,
  taskQuotas,
  roomQuotas,
  scriptsThatMove,
  serviceAccounts,
  scheduleHealth,
  momentsAndTriggers,
  timeLimitsAndRetries,
  webhooks,
  toldSkips,
  countedVariables,
  attemptHandles,
  waitsForFiles,
  boundedReads,
  managedClusters,
  lookups,
  cancelingBackfills,
  switchingSchedules,
  rememberedTokens,
];

/** The schema version that this program writes. */
export const schemaVersion = migrations.length;

/** Migrates the schema to the newest version, or to an earlier `target` for a backup of that version. */
export async function migrate(db: Kysely<Tables>, dialect: Dialect, target = schemaVersion): Promise<void> {
  await sql`create table if not exists schema_version (version integer not null)`.execute(db);
  const { rows } = await sql<{ version: number }>`select max(version) as version from schema_version`.execute(db);
  const current = rows[0]?.version ?? 0;
  if (current > migrations.length) {
    throw new Error(
      `The database has schema version ${current} and was written by a newer Millrace; this one supports versions up to ${migrations.length}. Upgrade this installation.`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < current || index >= target) continue;
    await migration(db, dialect);
    await sql`insert into schema_version (version) values (${sql.lit(index + 1)})`.execute(db);
  }
}

async function first(db: Kysely<Tables>, { identity }: Dialect): Promise<void> {
  const statements = [
    `create table users (id ${identity}, username text not null unique, first_name text not null, last_name text not null, created_at text not null)`,
    `create table teams (id ${identity}, name text not null unique, created_at text not null)`,
    `create table memberships (team_id integer not null references teams, user_id integer not null references users, role text not null, primary key (team_id, user_id))`,
    `create table tokens (id ${identity}, user_id integer not null references users, hash text not null unique, name text not null, scopes text not null, team_ids text, created_at text not null, expires_at text, last_used_at text, revoked_at text)`,
    `create table sessions (hash text primary key, user_id integer not null references users, created_at text not null, expires_at text not null)`,
    `create table sign_in_links (hash text primary key, user_id integer not null references users, expires_at text not null, used_at text)`,
    `create table device_logins (device_hash text primary key, user_code text not null unique, client_name text not null, token_name text not null, scopes text not null, team_names text, expires_in_days integer not null, status text not null, user_id integer references users, granted_scopes text, granted_team_ids text, granted_until text, expires_at text not null)`,
    `create table clusters (id ${identity}, name text not null unique, engine text not null, isolation text not null, max_workers integer not null, is_active integer not null, is_default integer not null)`,
    `create table files (id ${identity}, team_id integer not null references teams, user_id integer not null references users, filename text not null, size bigint not null, sha256 text not null, blob text not null, created_at text not null, attached_at text)`,
    `create index files_unused on files (created_at) where attached_at is null`,
    `create index files_by_blob on files (blob)`,
    `create table jobs (id text primary key, team_id integer not null references teams, user_id integer not null references users, cluster_id integer not null references clusters, name text, status text not null, attempt integer not null, spec text not null, environment text not null, metrics text not null, exit_code integer, error_message text, error_stack text, steps text, parent_job_id text, created_at text not null, started_at text, finished_at text)`,
    `create index jobs_by_team on jobs (team_id, id)`,
    `create index jobs_by_status on jobs (team_id, status, id)`,
    `create index jobs_by_name on jobs (team_id, name, id)`,
    `create index jobs_by_user on jobs (team_id, user_id, id)`,
    `create table queue (job_id text primary key, cluster_id integer not null, priority integer not null, slots integer not null, passed_over integer not null)`,
    `create index queue_order on queue (cluster_id, priority, job_id)`,
    `create table attempts (job_id text primary key, attempt integer not null, cluster_id integer not null, slots integer not null, server_id text not null, boot_id text not null, created_at text not null, signalled_at text)`,
    `create table tasks (job_id text primary key, next_run text not null, fired integer not null)`,
    `create index tasks_by_time on tasks (next_run)`,
    `create table idempotency_keys (team_id integer not null, user_id integer not null, key text not null, job_id text not null, primary key (team_id, user_id, key))`,
  ];
  await run(db, statements);
}

/** Adds passwords, invitations, the audit log, credentials, quotas, tags and log retention. */
async function manyTeams(db: Kysely<Tables>, { identity }: Dialect): Promise<void> {
  await run(db, [
    `alter table users add column email text`,
    `alter table users add column password_hash text`,
    `alter table users add column is_admin integer not null default 0`,
    `alter table users add column disabled_at text`,
    `update users set is_admin = 1 where username = 'admin'`,
    `alter table teams add column max_running integer`,
    `alter table teams add column max_queued integer`,
    `alter table teams add column default_credentials_id integer`,
    `alter table device_logins add column granted_by integer references tokens`,
    `create table invitations (id ${identity}, hash text not null unique, team_id integer not null references teams, role text not null, email text not null, created_by integer not null references users, created_at text not null, expires_at text not null, used_at text, used_by integer references users, revoked_at text)`,
    `create table audit (id ${identity}, at text not null, user_id integer references users, username text not null, via text not null, address text not null, action text not null, team_id integer references teams, target text not null, detail text not null)`,
    `create index audit_by_team on audit (team_id, id)`,
    `create index audit_by_time on audit (at)`,
    `create table credentials (id ${identity}, team_id integer references teams, user_id integer references users, name text not null, variables text not null, secret text not null, created_at text not null, updated_at text not null)`,
    `create unique index credentials_by_name on credentials ((coalesce(team_id, 0)), (coalesce(user_id, 0)), name)`,
    `alter table jobs add column secrets text not null default ''`,
    // Jobs created before scopes were stored get only the scopes that running a job needs.
    `alter table jobs add column scopes text not null default '["JOB:read","JOB:write","PIPELINES:read","PIPELINES:write","CLUSTERS:read"]'`,
    // Indexes to find values by encryption key, at every start and when keys are rotated. Most jobs have no such value.
    `create index jobs_by_environment_key on jobs ((substr(environment, 1, 18)), id) where environment <> ''`,
    `create index jobs_by_secrets_key on jobs ((substr(secrets, 1, 18)), id) where secrets <> ''`,
    `alter table jobs add column log_removed_at text`,
    `create index jobs_by_parent on jobs (parent_job_id) where parent_job_id is not null`,
    `create index jobs_with_log on jobs (finished_at) where finished_at is not null and log_removed_at is null`,
    `create table job_tags (team_id integer not null, tag text not null, job_id text not null, primary key (team_id, tag, job_id))`,
    `alter table queue add column team_id integer not null default 0`,
    `update queue set team_id = (select jobs.team_id from jobs where jobs.id = queue.job_id)`,
    `create index queue_by_team on queue (team_id, cluster_id, priority, job_id)`,
    `alter table attempts add column team_id integer not null default 0`,
    `update attempts set team_id = (select jobs.team_id from jobs where jobs.id = attempts.job_id)`,
    `create index idempotency_keys_by_job on idempotency_keys (job_id)`,
  ]);
}

/** Adds the dataset registry, pipelines that rebuild datasets, and schedules that fire pipelines. */
async function datasets(db: Kysely<Tables>, { identity }: Dialect): Promise<void> {
  await run(db, [
    `alter table teams add column library_version text`,
    `alter table jobs add column pipeline_id text`,
    `create table namespaces (id ${identity}, team_id integer not null references teams, uuid text not null, name text not null, description text, created_at text not null, unique (team_id, name))`,
    `create table projects (id ${identity}, namespace_id integer not null references namespaces, uuid text not null, name text not null, description text, created_at text not null, unique (namespace_id, name))`,
    `create table datasets (id ${identity}, team_id integer not null references teams, project_id integer not null references projects, uuid text not null, name text not null, description text, attrs text not null, created_at text not null, unique (project_id, name))`,
    `create index datasets_by_team on datasets (team_id, name)`,
    `create index datasets_by_uuid on datasets (team_id, uuid)`,
    `create table dataset_versions (id ${identity}, dataset_id integer not null references datasets, team_id integer not null references teams, uuid text not null, version text not null, major integer not null, minor integer not null, patch integer not null, status integer not null, rows_table text, num_objects bigint, size bigint, feature_schema text not null, schema text not null, preview text, sources text not null, query_script text not null, script_output text not null, error_message text not null, error_stack text not null, content_hash text, job_id text, created_at text not null, finished_at text, removed_at text, unique (dataset_id, major, minor, patch))`,
    `create unique index dataset_versions_by_uuid on dataset_versions (team_id, uuid)`,
    `create table dataset_dependencies (version_id integer not null references dataset_versions, needs_version_id integer references dataset_versions, needs_uri text)`,
    `create unique index dataset_dependencies_by_version on dataset_dependencies (version_id, (coalesce(needs_version_id, 0)), (coalesce(needs_uri, '')))`,
    `create index dataset_dependencies_by_need on dataset_dependencies (needs_version_id) where needs_version_id is not null`,
    `create table dataset_version_jobs (job_id text not null, version_id integer not null references dataset_versions, is_creator integer not null, primary key (job_id, version_id))`,
    `create index dataset_version_jobs_by_version on dataset_version_jobs (version_id)`,
    `create table exports (id text primary key, team_id integer not null references teams, version_id integer not null references dataset_versions, status text not null, num_files integer not null, files_done integer not null, error text, created_at text not null)`,
    `create index exports_by_version on exports (version_id)`,
    `create index exports_by_time on exports (created_at)`,
    `create table team_stores (team_id integer primary key references teams, used_at text not null, tidied_at text, paused_at text, backed_up_at text)`,
    `create table pipelines (id text primary key, team_id integer not null references teams, user_id integer not null references users, name text not null, status text not null, is_template integer not null, schedule_id integer, triggered_from text not null, datasets text not null, settings text not null, environment text not null, scopes text not null, error_message text, error_stack text, open_runs integer not null, created_at text not null, updated_at text not null, finished_at text, unique (team_id, name))`,
    `create index pipelines_by_team on pipelines (team_id, is_template, id)`,
    `create index pipelines_by_schedule on pipelines (schedule_id, id) where schedule_id is not null`,
    `create index pipelines_by_environment_key on pipelines ((substr(environment, 1, 18)), id) where environment <> ''`,
    `create table pipeline_runs (pipeline_id text not null references pipelines, position integer not null, job_id text not null, created_job_id text, name text not null, waits_for integer not null, primary key (pipeline_id, job_id))`,
    `create index pipeline_runs_by_created on pipeline_runs (created_job_id) where created_job_id is not null`,
    `create table pipeline_edges (pipeline_id text not null references pipelines, job_id text not null, parent_job_id text not null, primary key (pipeline_id, job_id, parent_job_id))`,
    `create index pipeline_edges_by_parent on pipeline_edges (pipeline_id, parent_job_id, job_id)`,
    `create table schedules (id ${identity}, team_id integer not null references teams, user_id integer not null references users, name text not null, pipeline_id text not null references pipelines, start_after text, cron_expression text, timezone text not null, overlap text not null, catch_up text not null, is_paused integer not null, next_run text, waiting_since text, latest_pipeline_id text, fired integer not null, last_error text, created_at text not null, updated_at text not null, unique (team_id, name))`,
    `create index schedules_by_time on schedules (next_run, id) where next_run is not null`,
    `create index schedules_that_wait on schedules (id) where waiting_since is not null`,
  ]);
}

/**
 * Adds the table `large_specs` for the full specs of jobs, so that the table `jobs` contains only what lists show. The
 * later migration `sharedTexts` replaces `large_specs`.
 */
async function largeSpecs(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `create table large_specs (job_id text primary key references jobs, spec text not null)`,
    `alter table jobs add column cut text not null default ''`,
  ]);
}

/** Adds known browsers and the last trusted clock times. */
async function signInsAndClocks(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `create table browsers (hash text not null, user_id integer not null references users, expires_at text not null, primary key (hash, user_id))`,
    `create index browsers_by_user on browsers (user_id, expires_at)`,
    `create table clock_marks (id integer primary key, seen_at text not null)`,
  ]);
}

/**
 * Adds disk usage and storage quotas of teams. Uploads are counted here in blocks of 4 KiB; a background loop counts
 * the rest.
 */
async function teamUsage(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `alter table teams add column max_dataset_bytes bigint`,
    `alter table teams add column max_upload_bytes bigint`,
    `alter table teams add column max_log_bytes bigint`,
    `create table team_usage (team_id integer primary key references teams, datasets bigint, uploads bigint not null, logs bigint not null)`,
    `insert into team_usage (team_id, datasets, uploads, logs) select teams.id, null, coalesce((select sum((files.size + 4095) / 4096 * 4096) from files where files.team_id = teams.id), 0), 0 from teams`,
    `alter table attempts add column store_bytes bigint not null default 0`,
    `alter table jobs add column log_bytes bigint`,
    `create index jobs_with_uncounted_logs on jobs (finished_at, id) where log_bytes is null and log_removed_at is null and finished_at is not null`,
    `create index jobs_with_logs on jobs (team_id, finished_at, id) where log_bytes > 0 and log_removed_at is null`,
  ]);
}

/**
 * Adds the column `store_peak`: the largest warehouse size measured during an attempt. Only growth beyond this size is
 * charged to the attempt.
 */
async function warehousePeaks(db: Kysely<Tables>): Promise<void> {
  await run(db, [`alter table attempts add column store_peak bigint`]);
}

/**
 * Stores each long text of a team's jobs only once. Adds a quota for these texts, and an index that finds texts which
 * no job needs.
 */
async function sharedTexts(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `create table texts (team_id integer not null references teams, hash text not null, bytes integer not null, text text not null, primary key (team_id, hash))`,
    `create table job_texts (job_id text not null references jobs, field text not null, team_id integer not null, hash text not null, primary key (job_id, field), foreign key (team_id, hash) references texts)`,
    `create index job_texts_by_text on job_texts (team_id, hash)`,
    `alter table team_usage add column texts bigint not null default 0`,
    `alter table teams add column max_text_bytes bigint`,
    `alter table jobs add column texts_settled_at text`,
    `create index jobs_with_texts on jobs (finished_at, id) where cut <> '' and texts_settled_at is null and finished_at is not null`,
    `create index dataset_versions_by_job on dataset_versions (job_id) where job_id is not null`,
    `create index pipeline_runs_by_job on pipeline_runs (job_id)`,
  ]);
  await shareSpecs(db);
  await run(db, [`drop table large_specs`]);
}

/** Adds quotas of tasks and schedules per team, and indexes to find a team's due tasks and schedules. */
async function taskQuotas(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `alter table teams add column max_tasks integer`,
    `alter table teams add column max_schedules integer`,
    `alter table tasks add column team_id integer not null default 0`,
    `update tasks set team_id = (select jobs.team_id from jobs where jobs.id = tasks.job_id)`,
    `create index tasks_by_team on tasks (team_id, next_run, job_id)`,
    `create index schedules_by_team on schedules (team_id, next_run, id) where next_run is not null`,
  ]);
}

/** Adds usage and quotas of exports and virtualenvs. */
async function roomQuotas(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `alter table teams add column max_export_bytes bigint`,
    `alter table teams add column max_environment_bytes bigint`,
    `alter table team_usage add column exports bigint not null default 0`,
    `alter table team_usage add column environments bigint not null default 0`,
    `alter table exports add column bytes bigint not null default 0`,
  ]);
}

/**
 * Adds the origin of a job, which is the original job that it repeats. With this column, one index lookup finds the
 * newest script of a dataset, even if older scripts were repeated later. Also adds the requested targets of pipelines,
 * and whether a schedule follows the newest scripts.
 */
async function scriptsThatMove(db: Kysely<Tables>): Promise<void> {
  const creator = `(select min(job_id) from dataset_version_jobs where version_id = dataset_versions.id and is_creator = 1)`;
  await run(db, [
    `alter table jobs add column origin_id text`,
    `alter table dataset_versions add column origin_job_id text`,
    `alter table pipelines add column asked text`,
    `alter table schedules add column follow text not null default 'none'`,
    `update jobs set origin_id = parent_job_id where parent_job_id is not null`,
    `update jobs set origin_id = (select min(job_id) from pipeline_runs where created_job_id = jobs.id) where pipeline_id is not null`,
  ]);
  // A run may repeat another run, so each statement moves `origin_id` one step closer to the first job.
  for (let changed = 1n; changed > 0n; ) {
    const result = await sql
      .raw(`update jobs set origin_id = (select origin.origin_id from jobs origin where origin.id = jobs.origin_id)
        where origin_id is not null and exists (select 1 from jobs origin where origin.id = jobs.origin_id and origin.origin_id is not null)`)
      .execute(db);
    changed = result.numAffectedRows ?? 0n;
  }
  await run(db, [
    `update dataset_versions set origin_job_id = (select coalesce(origin_id, id) from jobs where jobs.id = coalesce(dataset_versions.job_id, ${creator}) and jobs.team_id = dataset_versions.team_id)`,
    `create index dataset_versions_by_origin on dataset_versions (dataset_id, origin_job_id) where origin_job_id is not null`,
  ]);
}

/** Adds service accounts of teams, and the user as whom tasks and pipelines run after they were transferred. */
async function serviceAccounts(db: Kysely<Tables>): Promise<void> {
  await run(db, [
    `alter table users add column service_team_id integer`,
    `create unique index users_by_service_team on users (service_team_id) where service_team_id is not null`,
    `alter table pipelines add column run_as text not null default ''`,
    `alter table tasks add column run_as text not null default ''`,
    `alter table schedules add column created_by integer`,
    `create index pipelines_unfinished on pipelines (team_id, id) where status in ('RUNNING', 'PAUSED')`,
  ]);
}

async function run(db: Kysely<Tables>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
