/** The dataset library in jobs: which jobs use it, and which version they get. */
import type { Job } from "@millrace/contract";

type Query = Pick<Job, "query" | "query_type" | "requirements" | "script">;

/** `import os, datachain as dc` as well. */
const imports = /^[ \t]*(?:from[ \t]+|import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*){0,20})datachain\b/m;
const listed = /^datachain(?![\w.-])/i;

const lines = (requirements: string | null) => (requirements ?? "").split("\n").map((line) => line.trim());

/** Only these pay for it: a script that imports it, and whatever lists it. What a repository holds is not known before. */
export const usesLibrary = ({ query, query_type, requirements, script }: Query): boolean =>
  (query_type === "PYTHON" && (Boolean(script) || imports.test(query))) ||
  lines(requirements).some((line) => listed.test(line));

/** Listed without a version, or not at all, it is the team's version: one store is not for several. */
export function withLibrary(requirements: string | null, version: string): string {
  const given = lines(requirements);
  const pinned = given.map((line) =>
    line.replace(/^(datachain(?:\[[\w, -]*\])?)\s*(?=$|#|;)/i, `$1==${version} `).trim(),
  );
  return (given.some((line) => listed.test(line)) ? pinned : [...given, `datachain==${version}`]).join("\n").trim();
}
