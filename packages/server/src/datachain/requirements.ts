/** Finds the datachain library in scripts and requirements, and decides which version a job gets. */
import { compareReleases, invalid, isTooOldLibrary, oldestLibrary } from "@millrace/contract";
import { libraryName } from "./library.ts";

/** Matches a line that imports the library, alone or among other modules, such as `import os, datachain as dc`. */
const imports = /^[ \t]*(?:from[ \t]+|import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*){0,20})datachain\b/m;
const listed = /^datachain(?![\w.-])/i;

const lines = (requirements: string | null) => (requirements ?? "").split("\n").map((line) => line.trim());

/** Whether a Python script imports the datachain library. */
export const importsLibrary = (script: string): boolean => imports.test(script);

export const listsLibrary = (requirements: string | null): boolean =>
  lines(requirements).some((line) => listed.test(line));

const pinned = (version: string) => `${libraryName}==${version}`;

/** Whether the requirements consist of this version of the library and nothing else. */
export const isOnlyLibrary = (requirements: string, version: string): boolean => requirements === pinned(version);

/**
 * Returns the requirements with this version of the library. Adds the library if it is not listed, and adds the version
 * if it is listed without one. The jobs of a team share a warehouse, so they should use the same version.
 */
export function withLibrary(requirements: string | null, version: string): string {
  const given = lines(requirements);
  const withVersion = given.map((line) =>
    line.replace(/^(datachain(?:\[[\w, -]*\])?)\s*(?=$|#|;)/i, `$1==${version} `).trim(),
  );
  return (given.some((line) => listed.test(line)) ? withVersion : [...given, pinned(version)]).join("\n").trim();
}

const clause = /^(===|==|<=|<|~=)\s*v?(\d+(?:\.\d+)*)(\.\*)?/;

/**
 * Returns true if a version specifier such as `==0.55.0`, `~=0.55.0` or `<0.56` excludes all releases that Millrace
 * supports.
 */
function leavesNone(condition: string): boolean {
  const [, operator, version = "", wildcard] = clause.exec(condition.trim()) ?? [];
  if (operator === undefined) return false;
  if (operator === "<") return compareReleases(version, oldestLibrary) <= 0;
  // `==1.2.*` and `~=1.2.3` allow every release of the series 1.2, so the first release that they exclude is 1.3.
  const series = wildcard ? version : operator === "~=" ? version.split(".").slice(0, -1).join(".") : undefined;
  if (series === undefined) return isTooOldLibrary(version);
  const next = series.split(".").map((part, i, all) => (i === all.length - 1 ? String(Number(part) + 1) : part));
  return compareReleases(next.join("."), oldestLibrary) <= 0;
}

/** Returns the requirements unchanged. Throws if they allow no release of the library that Millrace supports. */
export function checkLibrary(requirements: string | null): string | null {
  for (const line of lines(requirements)) {
    const conditions = /^datachain\s*(?:\[[^\]]*\])?\s*\(?([^;#)@]*)/i.exec(line)?.[1];
    if (listed.test(line) && conditions?.split(",").some(leavesNone))
      throw invalid(
        "requirements",
        `${libraryName} ${oldestLibrary} or newer, or ${libraryName} without a version (${why})`,
        line.slice(0, 200),
      );
  }
  return requirements;
}

/**
 * Returns `version`, the default library version of a team or of the server. Throws if Millrace does not support it.
 */
export function checkLibraryVersion(field: string, version: string): string {
  if (version && isTooOldLibrary(version)) throw invalid(field, `${oldestLibrary} or newer (${why})`, version);
  return version;
}

const why = "older releases store datasets in tables that Millrace cannot read";
