/** The library in scripts and requirements: whether they name it, and which version jobs get. */
import { compareReleases, invalid, isTooOldLibrary, oldestLibrary } from "@millrace/contract";
import { libraryName } from "./library.ts";

/** `import os, datachain as dc` as well. */
const imports = /^[ \t]*(?:from[ \t]+|import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*){0,20})datachain\b/m;
const listed = /^datachain(?![\w.-])/i;

const lines = (requirements: string | null) => (requirements ?? "").split("\n").map((line) => line.trim());

/** Whether a Python script imports it. */
export const importsLibrary = (script: string): boolean => imports.test(script);

export const listsLibrary = (requirements: string | null): boolean =>
  lines(requirements).some((line) => listed.test(line));

const pinned = (version: string) => `${libraryName}==${version}`;

/** Whether the requirements are this version of the library, and nothing more. */
export const isOnlyLibrary = (requirements: string, version: string): boolean => requirements === pinned(version);

/** Listed without a version, or not at all, it is the team's version: one store is not for several. */
export function withLibrary(requirements: string | null, version: string): string {
  const given = lines(requirements);
  const withVersion = given.map((line) =>
    line.replace(/^(datachain(?:\[[\w, -]*\])?)\s*(?=$|#|;)/i, `$1==${version} `).trim(),
  );
  return (given.some((line) => listed.test(line)) ? withVersion : [...given, pinned(version)]).join("\n").trim();
}

const clause = /^(===|==|<=|<|~=)\s*v?(\d+(?:\.\d+)*)(\.\*)?/;

/** Whether a condition such as `==0.55.0`, `~=0.55.0` or `<0.56` leaves no release that Millrace works with. */
function leavesNone(condition: string): boolean {
  const [, operator, version = "", wildcard] = clause.exec(condition.trim()) ?? [];
  if (operator === undefined) return false;
  if (operator === "<") return compareReleases(version, oldestLibrary) <= 0;
  // The last number of these is free to grow: the next release of the one before it is the first that they leave out.
  const series = wildcard ? version : operator === "~=" ? version.split(".").slice(0, -1).join(".") : undefined;
  if (series === undefined) return isTooOldLibrary(version);
  const next = series.split(".").map((part, i, all) => (i === all.length - 1 ? String(Number(part) + 1) : part));
  return compareReleases(next.join("."), oldestLibrary) <= 0;
}

/** Refuses requirements by which no release that Millrace works with could be installed. */
export function checkLibrary(requirements: string | null): string | null {
  for (const line of lines(requirements)) {
    const conditions = /^datachain\s*(?:\[[^\]]*\])?\s*\(?([^;#)@]*)/i.exec(line)?.[1];
    if (listed.test(line) && conditions?.split(",").some(leavesNone))
      throw invalid(
        "requirements",
        `${libraryName} ${oldestLibrary} or newer, or no version of it: ${why}`,
        line.slice(0, 200),
      );
  }
  return requirements;
}

/** The version that a team or the server gives to jobs. */
export function checkLibraryVersion(field: string, version: string): string {
  if (version && isTooOldLibrary(version)) throw invalid(field, `${oldestLibrary} or newer: ${why}`, version);
  return version;
}

const why = "older releases keep datasets in tables that Millrace cannot read";
