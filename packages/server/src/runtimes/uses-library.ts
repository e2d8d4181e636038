/** Which jobs use the dataset library. Only these pay for it. */
import type { Job } from "@millrace/contract";
import { listsLibrary } from "../datachain/requirements.ts";
import { runtimeOf } from "./runtimes.ts";

type Query = Pick<Job, "query" | "query_type" | "requirements" | "script">;

/** A script that imports it, and whatever lists it. What a repository holds is not known before. */
export const usesLibrary = ({ query, query_type, requirements, script }: Query): boolean =>
  runtimeOf(query_type).mayImportLibrary(script ? undefined : query) || listsLibrary(requirements);
