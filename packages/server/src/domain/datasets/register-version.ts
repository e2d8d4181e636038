/**
 * Registers dataset versions of external producers. The rows of such a version are stored elsewhere; its description
 * and lineage are recorded here.
 */
import { randomUUID } from "node:crypto";
import { ApiError, invalid, parseExactly, type RouteInput, type routes, versionStatus } from "@millrace/contract";
import { reservedNamespaces } from "../../datachain/names.ts";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  findVersion,
  getVersion,
  hasManyVersions,
  insertVersion,
  linkJob,
  type Need,
  newestVersion,
  putDependencies,
  storedVersion,
  textBytesOf,
  versionIdOf,
} from "../../store/queries/datasets/dataset-versions.ts";
import {
  ensureNamespace,
  ensureProject,
  findDataset,
  placedDataset,
  putDataset,
} from "../../store/queries/datasets/datasets.ts";
import { findLiveVersions } from "../../store/queries/datasets/live-versions.ts";
import { findJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Transaction } from "../access/edit.ts";
import type { Principal, Team } from "../access/principals.ts";
import { type DiskQuotas, requireRoomForTexts } from "../access/quotas.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { iso } from "../time/clock.ts";
import { canBeKept, fullName, type Reference, readReference, type Version, writeVersion } from "./dataset-names.ts";
import { checkName, getLiveVersion, readNamed } from "./datasets.ts";
import { mostOfJob } from "./parse-collected.ts";
import { noticeVersions } from "./version-notices.ts";

type Input = RouteInput<typeof routes.registerVersion>["body"];

/** A request to register a version. */
export interface Registration {
  readonly team: Team;
  readonly principal: Principal;
  readonly actor: Actor;
  readonly input: Input;
  /** Request body as it was received. `input` is parsed from it, and may have lost digits of large numbers. */
  readonly text: string;
}

/** Registers a version. Looks up the dependencies before the transaction begins, so that other writers wait less. */
export async function registerVersion(store: Store, registration: Registration, quotas: DiskQuotas, now: number) {
  checkPlace(readNamed(registration.input, registration.principal.username));
  // A repeated request gets the same answer, even if its dependencies no longer exist.
  const needs = (await knownVersion(store.db, registration)) ? [] : await readNeeds(store.db, registration);
  return store.write((db) => register({ db, now }, registration, needs, quotas));
}

const knownVersion = async (db: Db, { team, input }: Registration) =>
  input.uuid ? versionIdOf(db, team.id, input.uuid.toLowerCase()) : undefined;

async function register(
  { db, now }: Transaction,
  registration: Registration,
  needs: readonly Need[],
  quotas: DiskQuotas,
) {
  const { team, principal, actor, input } = registration;
  const reference = readNamed(input, principal.username);
  const known = await knownVersion(db, registration);
  if (known !== undefined) return answerOf(db, known, reference);
  const job = await jobOf(db, registration);
  if (job) await requireFewVersions(db, job.id);
  const datasetId = await datasetOf(db, registration, reference, now);
  const numbers = await chooseVersion(db, datasetId, reference);
  const row = {
    ...rowOf(registration, numbers, now),
    dataset_id: datasetId,
    query_script: input.query_script ?? job?.query ?? "",
    job_id: job?.id ?? null,
  };
  const id = await insertVersion(db, row);
  const added = await putDependencies(db, { teamId: team.id, versionId: id }, needs);
  await requireRoomForTexts(db, team, textBytesOf(row) + added, quotas);
  if (job) await linkJob(db, job.id, id, true);
  const name = `${fullName(reference)}@${writeVersion(numbers)}`;
  await noticeVersions(db, [{ datasetId, name }], job?.id ?? null, now);
  await audit(db, actor, { action: "dataset.register", team, target: name }, now);
  return answerOf(db, id, reference);
}

/**
 * Returns the API's answer for a registered version. Throws if the version with this id belongs to another dataset than
 * the request names.
 */
async function answerOf(db: Db, id: number, reference: Reference) {
  const row = await getVersion(db, id);
  const dataset = row && (await placedDataset(db, row.dataset_id));
  const named = dataset && { namespace: dataset.namespace.name, project: dataset.project.name, name: dataset.name };
  if (!row || !named || fullName(named) !== fullName(reference))
    throw new ApiError(
      "wrong_state",
      "uuid: a version of another dataset already has this uuid. Leave uuid out, or choose a new one.",
    );
  return { dataset_name: fullName(named), version: row.version, uuid: row.uuid };
}

/**
 * Throws if a part of the name is invalid, or if the namespace is reserved. Reserved are `system`, where the library
 * keeps its listings, and `local`, whose datasets the library never requests from a server.
 */
function checkPlace({ namespace, project, name }: Reference): void {
  checkName("name", name);
  checkName("name", project);
  checkName("name", namespace.replace(/^@/, ""));
  if (reservedNamespaces.includes(namespace))
    throw invalid("name", `a namespace other than ${reservedNamespaces.join(" and ")}`, namespace);
}

/**
 * Returns the job that created the version; undefined if the request names none. Only an admin of the team may name
 * another user's job, because a pipeline that rebuilds the version runs the job again with the rights of the job's
 * creator.
 */
async function jobOf(db: Db, { team, principal: { userId, via }, input }: Registration) {
  const given = input.job_id?.toLowerCase();
  const own = via.kind === "job" ? via.jobId : undefined;
  if (own && given && own !== given)
    throw new ApiError(
      "forbidden",
      `job_id: a job's own token can register versions for its own job only, which is ${own}. Leave job_id out.`,
    );
  const id = own ?? given;
  if (id === undefined) return undefined;
  const job = await findJob(db, team.id, id);
  if (!job) throw new ApiError("not_found", `There is no job ${id} in the team ${team.name}.`);
  if (job.user_id !== userId && team.role !== "admin")
    throw new ApiError(
      "forbidden",
      `job_id: the job ${id} belongs to ${await usernameOf(db, job.user_id)}. Only its owner, the job itself and admins of the team may register versions for it.`,
    );
  const isWhole = !job.cut.includes('"query"');
  return { id, query: isWhole ? readSpec(job).query : "" };
}

/** Throws if the job has as many versions as a job may have. */
async function requireFewVersions(db: Db, jobId: string): Promise<void> {
  if (!(await hasManyVersions(db, jobId, mostOfJob))) return;
  throw new ApiError(
    "wrong_state",
    `job_id: the job ${jobId} already has ${mostOfJob} versions of datasets, which is the limit for one job. Register further versions for another job, or without a job.`,
  );
}

/** Converts the dependencies in a request to versions and storage URIs. Throws if a version does not exist. */
async function readNeeds(db: Db, { team, principal, input }: Registration): Promise<Need[]> {
  const texts = [...new Set(input.dependencies ?? [])];
  const uris = texts.filter(isUri);
  const unfit = uris.find((text) => !canBeKept(text));
  if (unfit !== undefined) throw invalid("dependencies", "URIs of at most 1000 bytes, in well-formed Unicode", unfit);
  const references = texts
    .filter((text) => !isUri(text))
    .map((text) => readReference(text.replace(/^ds:\/\//, ""), principal.username, "dependencies"));
  const found = await findLiveVersions(db, team.id, references);
  const needs: Need[] = uris.map((needs_uri) => ({ needs_uri }));
  // For a version that was not found, `getLiveVersion` throws an error that says why.
  for (const [index, reference] of references.entries())
    needs.push({ needs_version_id: (found[index] ?? (await getLiveVersion(db, team, reference))).id });
  return needs;
}

const isUri = (text: string) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !text.startsWith("ds://");

/**
 * Creates or updates the dataset of the version, and returns its id. Fields that the request leaves out stay as they
 * are.
 */
async function datasetOf(db: Db, { team, input }: Registration, reference: Reference, now: number): Promise<number> {
  const known = await findDataset(db, team.id, reference);
  const described = {
    description: input.description ?? known?.description ?? null,
    attrs: input.attrs ? JSON.stringify(input.attrs) : (known?.attrs ?? "[]"),
  };
  const made = () => ({ uuid: randomUUID(), description: null, created_at: iso(now) });
  const namespaceId = await ensureNamespace(db, team.id, reference.namespace, made());
  const projectId = await ensureProject(db, namespaceId, reference.project, made());
  const uuid = known?.uuid ?? randomUUID();
  const { name } = reference;
  return putDataset(db, { team_id: team.id, project_id: projectId, uuid, name, created_at: iso(now), ...described });
}

/**
 * Returns the number of the new version: the requested number, or the next free one if none is requested. Numbers of
 * removed versions are not free.
 */
async function chooseVersion(db: Db, datasetId: number, reference: Reference): Promise<Version> {
  const name = fullName(reference);
  if (await storedVersion(db, datasetId))
    throw new ApiError(
      "wrong_state",
      `The versions of ${name} are created by jobs on this server, so none can be registered. Choose another name.`,
    );
  const { version } = reference;
  if (!version) {
    const newest = await newestVersion(db, datasetId);
    return newest ? next(newest) : { major: 1, minor: 0, patch: 0 };
  }
  const taken = await findVersion(db, datasetId, version);
  if (!taken) return version;
  const why = taken.removed_at ? "was removed, and its number stays taken" : "already exists";
  throw new ApiError(
    "wrong_state",
    `${name}@${taken.version} ${why}. Leave the version out to get the next free number.`,
  );
}

function next({ major, minor, patch }: Version): Version {
  if (patch < 2_147_483_647) return { major, minor, patch: patch + 1 };
  throw new ApiError(
    "wrong_state",
    `version: the newest version, ${major}.${minor}.${patch}, has the largest possible patch number, so the server cannot choose the next one. Send a version with a new major or minor number.`,
  );
}

/** Maximum size of a schema, in bytes. A preview has the same limit. Answers about the dataset include both. */
const mostBytes = 256 * 1024;

function limited(field: string, json: string): string {
  const bytes = Buffer.byteLength(json);
  if (bytes <= mostBytes) return json;
  throw new ApiError("invalid", `${field}: expected at most ${mostBytes} bytes of JSON, got ${bytes}`);
}

function rowOf({ team, input, text }: Registration, numbers: Version, now: number) {
  const exact = parseExactly(text) as { preview?: unknown; schema?: unknown };
  const schema = limited("schema", JSON.stringify(exact.schema ?? {}));
  const preview = exact.preview ? limited("preview", JSON.stringify(exact.preview)) : null;
  return {
    ...numbers,
    team_id: team.id,
    uuid: input.uuid?.toLowerCase() ?? randomUUID(),
    version: writeVersion(numbers),
    status: versionStatus.complete,
    rows_table: null,
    num_objects: input.num_objects ?? null,
    size: input.size ?? null,
    feature_schema: "{}",
    schema,
    preview,
    sources: "",
    script_output: "",
    error_message: "",
    error_stack: "",
    content_hash: null,
    created_at: iso(now),
    finished_at: iso(now),
    removed_at: null,
  };
}
