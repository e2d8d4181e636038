/** Creates lineage without the `datachain` library: registers jobs as the creators of dataset versions. */
import { randomUUID } from "node:crypto";
import { type Client, type Job, type JobInput, routes } from "@millrace/contract";
import type { FoundVersion } from "../../../server/src/domain/datasets/parse-collected.ts";
import { recordVersions } from "../../../server/src/domain/datasets/record-collected.ts";
import type { Store } from "../../../server/src/store/drivers/store.ts";
import { createJob, shell } from "./jobs.ts";

/** A registered version; `name` is the dataset name that a test passes to trigger a pipeline. */
export interface Made {
  readonly uuid: string;
  readonly name: string;
  readonly version: string;
  readonly jobId: string | null;
}

interface Wishes {
  readonly needs?: readonly (Made | { readonly uri: string })[];
  readonly version?: string;
  readonly namespace?: string;
  readonly teamId?: number;
  /** When the version was made; by default in a far future. */
  readonly at?: string;
}

/** Registers the job as the creator of this version. */
export async function recordMade(store: Store, jobId: string | null, name: string, wishes: Wishes = {}): Promise<Made> {
  const [made] = await recordAllMade(store, [{ jobId, name }], wishes);
  return made as Made;
}

/** Registers jobs as the creators of many versions, in one transaction. */
export async function recordAllMade(
  store: Store,
  all: readonly Pick<Made, "jobId" | "name">[],
  wishes: Wishes = {},
): Promise<Made[]> {
  const { version = "1.0.0", teamId = 1 } = wishes;
  const made = all.map((one) => ({ ...one, version, uuid: randomUUID() }));
  const versions = made.map((one) => foundOf(one, wishes));
  const jobs = made.flatMap(({ jobId, uuid }) => (jobId === null ? [] : [{ jobId, uuid, isCreator: true }]));
  await store.write((db) => recordVersions(db, teamId, { versions, jobs }));
  return made;
}

/** Returns a version in the form in which the server reads it from a team's warehouse. */
export const foundOf = (
  { uuid, name, version, jobId }: Made,
  { needs = [], namespace = "@admin", at = time }: Wishes = {},
): FoundVersion => ({
  ...blank(at),
  ...{ namespace, project: "default", name, uuid, version, job_id: jobId, needs },
  dataset: { uuid: randomUUID(), description: null, attrs: "[]" },
});

const time = "2030-01-01T00:00:00.000Z";

const blank = (at: string) => ({
  status: 4,
  rows_table: null,
  num_objects: 1,
  size: 1,
  feature_schema: "{}",
  schema: "{}",
  preview: null,
  sources: "",
  query_script: "",
  script_output: "",
  error_message: "",
  error_stack: "",
  content_hash: null,
  created_at: at,
  finished_at: at,
  removed_at: null,
});

/** Creates a shell job, cancels it before it starts, and registers it as the creator of the dataset `name`. */
export async function makeDataset(
  { store, client }: { store: Store; client: Client },
  name: string,
  query: string,
  wishes: Wishes & { readonly input?: Partial<JobInput> } = {},
): Promise<Made> {
  const job = await originalJob(client, shell(query, { query_name: `${name}.sh`, ...wishes.input }));
  return recordMade(store, job.id, name, wishes);
}

/** Creates a job and cancels it before it runs. That is enough: a pipeline repeats a job whatever its result was. */
export async function originalJob(client: Client, input: JobInput): Promise<Job> {
  const later = { start_after: "2099-01-01T00:00:00Z" };
  const job = await createJob(client, { ...input, ...later });
  await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
  return job;
}
