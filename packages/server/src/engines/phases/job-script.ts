/** Where a job's script comes from and what it is called. */
import { runtimeOf } from "../../runtimes/runtimes.ts";
import type { JobSpec } from "../engine.ts";

/**
 * Returns the script's file name, derived from the job's name so that tracebacks and `__file__` show a familiar name.
 */
export function scriptFilename({ name, queryType }: Pick<JobSpec, "name" | "queryType">): string {
  const safe =
    (name ?? "")
      .split("/")
      .at(-1)
      ?.replace(/[^\w.-]/g, "_")
      .replace(/^[.-]+/, "")
      .slice(-100) ?? "";
  return safe || runtimeOf(queryType).filename;
}

/** Splits `url@revision` at the last @ of the URL's path. An @ before the host name is part of the URL. */
export function splitRevision(repository: string): { url: string; revision: string } {
  const pathStart = /^\w+:\/\//.test(repository)
    ? repository.indexOf("/", repository.indexOf("://") + 3)
    : repository.indexOf(":");
  const at = repository.lastIndexOf("@");
  if (at <= pathStart) return { url: repository, revision: "" };
  return { url: repository.slice(0, at), revision: repository.slice(at + 1) };
}
