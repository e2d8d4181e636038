/** Settings of a pipeline. In every run, they override the fields of the job that the run repeats. */
import type { Pipeline } from "@millrace/contract";
import type { PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import type { JobSpecFields } from "../lifecycle/job-documents.ts";
import { decryptPipelineEnvironment } from "../secrets/encryption.ts";
import { parseEnvironment, writeEnvironment } from "../secrets/environment-text.ts";
import type { KeyRing } from "../secrets/key-ring.ts";

type SettingName =
  | "python_version"
  | "requirements"
  | "repository"
  | "workers"
  | "priority"
  | "files"
  | "credentials_names"
  | "reuse_listings"
  | "timeout"
  | "retries"
  | "retry_delay";

/** Settings for all runs of a pipeline. Null means that each run keeps the value of the job that it repeats. */
export type PipelineSettings = Pick<Pipeline, SettingName>;

export const noSettings: PipelineSettings = {
  python_version: null,
  requirements: null,
  repository: null,
  workers: null,
  priority: null,
  files: null,
  credentials_names: null,
  reuse_listings: null,
  timeout: null,
  retries: null,
  retry_delay: null,
};

export const readSettings = ({ settings }: Pick<PipelineRow, "settings">): PipelineSettings => ({
  ...noSettings,
  ...(JSON.parse(settings) as Partial<PipelineSettings>),
});

/** Decrypts the pipeline's environment variables, which every run gets in addition to its own. */
export const readVariables = (keys: KeyRing, { id, environment }: Pick<PipelineRow, "id" | "environment">) =>
  parseEnvironment(decryptPipelineEnvironment(keys, id, environment));

/** Returns a job's spec in which the settings that are not null replace the job's own values. */
export function withSettings(spec: JobSpecFields, settings: PipelineSettings): JobSpecFields {
  const { credentials_names, ...rest } = settings;
  const set = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  const credentials =
    credentials_names === null ? {} : { credentials_name: credentials_names[0] ?? null, credentials_names };
  return { ...spec, ...set, ...credentials };
}

/**
 * Returns a job's environment with the pipeline's variables added. They take precedence over the job's own variables.
 */
export function withVariables(environment: string, variables: Readonly<Record<string, string>>): string {
  if (Object.keys(variables).length === 0) return environment;
  return writeEnvironment({ ...parseEnvironment(environment), ...variables });
}
