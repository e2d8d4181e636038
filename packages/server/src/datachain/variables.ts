/** Variables that the library and its client read. */
import type { DatasetAccess } from "./dataset-access.ts";

/** What is known of datasets, and their rows. */
export interface WarehouseFiles {
  readonly metadata: string;
  readonly rows: string;
}

/** Nobody is told that the library is used. */
export const noAnalytics = { DATACHAIN_NO_ANALYTICS: "1" };

/** Where the library finds the team's warehouse. It keeps what is the process's own below `root`. */
export const warehouseVariables = ({ metadata, rows }: WarehouseFiles, root: string) => ({
  DATACHAIN_METASTORE_ARG_DB_FILE: metadata,
  DATACHAIN_WAREHOUSE_ARG_DB_FILE: rows,
  DATACHAIN_ROOT_DIR: root,
});

interface WorkingJob extends Pick<DatasetAccess, "home" | "listingsSince"> {
  readonly jobId: string;
}

/** How the library works as this job. */
export const jobVariables = ({ jobId, home, listingsSince }: WorkingJob): Record<string, string> => ({
  DATACHAIN_JOB_ID: jobId,
  DATACHAIN_IS_STUDIO: "1",
  DATACHAIN_PROJECT: `${home.namespace}.${home.project}`,
  ...listingVariables(listingsSince),
});

/** Which listings our plug-in lets the library use: those since this time, or with null any; undefined: it does nothing. */
const listingVariables = (since: string | null | undefined) =>
  since === undefined ? {} : { MILLRACE_LISTINGS_SINCE: since ?? "any" };

interface AskedFor {
  readonly params: Readonly<Record<string, unknown>>;
  /** Ignore checkpoints. */
  readonly reset: boolean;
}

/** What a job was asked for, where a script reads it. */
export const requestVariables = ({ params, reset }: AskedFor): Record<string, string> => ({
  ...(Object.keys(params).length > 0 ? { DATACHAIN_QUERY_PARAMS: JSON.stringify(params) } : {}),
  ...(reset ? { DATACHAIN_IGNORE_CHECKPOINTS: "1" } : {}),
});

interface Server {
  readonly url: string;
  readonly token: string;
  readonly team: string;
}

/** So that the client works inside a job. One that is meant for another server is left alone: our token is not for that. */
export function clientVariables(given: Readonly<Record<string, string>>, { url, token, team }: Server) {
  if ("DATACHAIN_STUDIO_URL" in given || "DATACHAIN_STUDIO_TOKEN" in given) return {};
  return { DATACHAIN_STUDIO_URL: url, DATACHAIN_STUDIO_TOKEN: token, DATACHAIN_STUDIO_TEAM: team };
}
