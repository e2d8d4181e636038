/** Builds what an engine needs to run a job: script, files, environment variables and access to datasets. */
import type { Blobs } from "../blobs/blobs.ts";
import type { DatasetAccess } from "../datachain/dataset-access.ts";
import { withLibrary } from "../datachain/requirements.ts";
import { clientVariables } from "../datachain/variables.ts";
import { homeOf } from "../domain/datasets/dataset-names.ts";
import { filesOfJob } from "../domain/jobs/files.ts";
import { type JobSpecFields, readSpec } from "../domain/lifecycle/job-documents.ts";
import { momentTold } from "../domain/lifecycle/scheduled-moments.ts";
import { decryptEnvironment } from "../domain/secrets/encryption.ts";
import { parseEnvironment } from "../domain/secrets/environment-text.ts";
import { newJobToken } from "../domain/secrets/job-tokens.ts";
import { secretsOfEnvironment } from "../domain/secrets/log-secrets.ts";
import { CannotStart, type JobSpec } from "../engines/engine.ts";
import { usesLibrary } from "../runtimes/uses-library.ts";
import type { Db } from "../store/drivers/store.ts";
import type { JobRow } from "../store/queries/jobs/jobs.ts";
import { libraryVersionOf } from "../store/queries/people/teams.ts";
import { usernameOf } from "../store/queries/people/users.ts";
import type { Claimed } from "./claim.ts";
import type { ExecutionContext } from "./execution-context.ts";
import { fileGone, localFiles } from "./job-files.ts";

export interface BundleContext extends ExecutionContext {
  readonly blobs: Blobs;
  /** Returns the URL at which jobs reach this server. */
  readonly publicUrl: () => string;
  /** Version of the dataset library for teams that have not set one. */
  readonly libraryVersion: string;
}

export async function bundleOf(context: BundleContext, claimed: Claimed, key: string): Promise<JobSpec> {
  const { job } = claimed;
  const spec = readSpec(job);
  const files = await filesOfJob(context.store.db, spec.files);
  if (files.length < spec.files.length) throw new CannotStart(fileGone);
  const covered = files.find(({ filename }) => filename === spec.script?.split("/")[0]);
  if (covered)
    throw new CannotStart(
      `The attached file ${covered.filename} would replace the script ${spec.script} of the repository. Rename the file.`,
    );
  const uses = usesLibrary(spec);
  const { library_version, username } = await whoseWarehouse(context.store.db, job, uses);
  const own = ownEnvironment(context, job);
  const told = momentTold(spec);
  return {
    key,
    jobId: job.id,
    teamId: job.team_id,
    person: claimed.credentials.personal || own.secret ? job.user_id : null,
    name: job.name,
    query: spec.query,
    queryType: spec.query_type,
    environment: { ...environmentOf(context, claimed, own.variables), ...told.variables },
    params: { ...spec.params, ...told.params },
    pythonVersion: spec.python_version,
    requirements: uses ? withLibrary(spec.requirements, library_version ?? context.libraryVersion) : spec.requirements,
    repository: spec.repository,
    ...(spec.script ? { script: spec.script } : {}),
    reset: spec.reset,
    files: await localFiles(context.blobs, files),
    workers: Math.max(1, spec.workers),
    priority: spec.priority,
    isRetried: claimed.rules.retries > job.retried,
    datasets: uses ? datasetAccess(job, spec, username) : null,
  };
}

/**
 * Reads the team's version of the dataset library and the name of the job's creator. If the job does not use the
 * library, it needs neither, so nothing is read.
 */
const whoseWarehouse = async (db: Db, { team_id, user_id }: JobRow, uses: boolean) =>
  uses
    ? { library_version: await libraryVersionOf(db, team_id), username: await usernameOf(db, user_id) }
    : { library_version: null, username: "" };

const datasetAccess = (job: JobRow, spec: JobSpecFields, username: string): DatasetAccess => ({
  home: homeOf(spec.home ?? username),
  createdAt: spec.created_at,
  workers: spec.workers,
  runGroupId: spec.run_group_id ?? job.id,
  rerunFromJobId: spec.rerun_from_job_id,
  // A pipeline rebuilds datasets from the current content of the storage, so listings older than the job are refreshed.
  ...(job.pipeline_id === null ? {} : { listingsSince: spec.reuse_listings ? null : job.started_at }),
});

/**
 * Returns the job's environment variables. They come from the job's credentials, from the job request, and from this
 * server (its URL and a token). If two variables have the same name, the one from the later source in this order is
 * used.
 */
function environmentOf(
  { keys, publicUrl }: BundleContext,
  { job, team, credentials }: Claimed,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = { ...credentials.variables, ...own };
  const url = publicUrl();
  const token = newJobToken(keys, { jobId: job.id, attempt: job.attempt });
  return {
    ...clientVariables(given, { url, token, team }),
    ...given,
    MILLRACE_URL: url,
    MILLRACE_TOKEN: token,
  };
}

/** Decrypts and returns the variables of the job request. `secret` says whether any of them is a secret. */
function ownEnvironment({ keys }: BundleContext, { id, environment }: JobRow) {
  try {
    const text = environment === "" ? "" : decryptEnvironment(keys, id, environment);
    return { variables: parseEnvironment(text), secret: secretsOfEnvironment(text).length > 0 };
  } catch (error) {
    throw new CannotStart(`The job's environment variables cannot be decrypted or parsed. ${(error as Error).message}`);
  }
}
