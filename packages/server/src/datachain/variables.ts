/** Environment variables that the datachain library and its client read. */
import type { DatasetAccess } from "./dataset-access.ts";

/** Paths of a warehouse's two SQLite files: the metadata database and the rows database. */
export interface WarehouseFiles {
  readonly metadata: string;
  readonly rows: string;
}

/** Turns off the library's usage reports to its vendor. */
export const noAnalytics = { DATACHAIN_NO_ANALYTICS: "1" };

/**
 * Returns variables that make the library use the team's warehouse. Other files of the library are kept below `root`.
 */
export const warehouseVariables = ({ metadata, rows }: WarehouseFiles, root: string) => ({
  DATACHAIN_METASTORE_ARG_DB_FILE: metadata,
  DATACHAIN_WAREHOUSE_ARG_DB_FILE: rows,
  DATACHAIN_ROOT_DIR: root,
});

interface WorkingJob extends Pick<DatasetAccess, "home" | "listingsSince"> {
  readonly jobId: string;
}

/**
 * Returns variables that make the library act as this job: it records the job's id and writes to the job's default
 * project.
 */
export const jobVariables = ({ jobId, home, listingsSince }: WorkingJob): Record<string, string> => ({
  DATACHAIN_JOB_ID: jobId,
  DATACHAIN_IS_STUDIO: "1",
  DATACHAIN_PROJECT: `${home.namespace}.${home.project}`,
  ...listingVariables(listingsSince),
});

/**
 * Returns the variable that tells the listings plug-in which cached listings it may use. If `since` is null, it may use
 * listings of any age. If `since` is undefined, the plug-in is not used.
 */
const listingVariables = (since: string | null | undefined) =>
  since === undefined ? {} : { MILLRACE_LISTINGS_SINCE: since ?? "any" };

interface AskedFor {
  readonly params: Readonly<Record<string, unknown>>;
  /** Whether the job ignores checkpoints of earlier runs. */
  readonly reset: boolean;
}

/** Returns variables that pass the parameters and the reset option of the job request to the script. */
export const requestVariables = ({ params, reset }: AskedFor): Record<string, string> => ({
  ...(Object.keys(params).length > 0 ? { DATACHAIN_QUERY_PARAMS: JSON.stringify(params) } : {}),
  ...(reset ? { DATACHAIN_IGNORE_CHECKPOINTS: "1" } : {}),
});

interface Server {
  readonly url: string;
  readonly token: string;
  readonly team: string;
}

/**
 * Returns variables that let the `datachain` client inside a job use this server. Returns no variables if the job's own
 * variables (`given`) contain the URL of a server or a token.
 */
export function clientVariables(given: Readonly<Record<string, string>>, { url, token, team }: Server) {
  if ("DATACHAIN_STUDIO_URL" in given || "DATACHAIN_STUDIO_TOKEN" in given) return {};
  return { DATACHAIN_STUDIO_URL: url, DATACHAIN_STUDIO_TOKEN: token, DATACHAIN_STUDIO_TEAM: team };
}
