/**
 * Decides which jobs use the dataset library. The library is installed only for these jobs, so that other jobs do not
 * wait for it.
 */
import type { Job } from "@millrace/contract";
import { listsLibrary } from "../datachain/requirements.ts";
import { runtimeOf } from "./runtimes.ts";

type Query = Pick<Job, "query" | "query_type" | "requirements" | "script">;

/**
 * Whether the script imports the library or the requirements list it. A script in a repository is assumed to import it.
 */
export const usesLibrary = ({ query, query_type, requirements, script }: Query): boolean =>
  runtimeOf(query_type).mayImportLibrary(script ? undefined : query) || listsLibrary(requirements);
