/** Reads requirements and the settings of a package index: what they refer to decides whether jobs share a virtualenv. */
import type { JobSpec } from "../engine.ts";

/**
 * Matches variables that choose the package index. A job may set only these variables for the build of its virtualenv.
 * They are part of the virtualenv's key.
 */
const indexVariable = /^(PIP|UV)_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|NO_INDEX|TRUSTED_HOST|INSECURE_HOST)$/;

/** Returns the job's variables that choose the package index. */
export const indexVariables = ({ environment }: Pick<JobSpec, "environment">): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => indexVariable.test(name)));

/**
 * Whether the job's package index is a local folder or a `file:` URL. The virtualenv's key does not include the content
 * of such an index, so the virtualenv is not shared.
 */
export const indexIsLocal = ({ environment }: Pick<JobSpec, "environment">): boolean =>
  Object.entries(environment)
    .filter(([name]) => indexVariable.test(name) && /INDEX(_URL)?$/.test(name) && !name.endsWith("NO_INDEX"))
    .some(([, value]) => value.split(/\s+/).some((word) => word !== "" && !/^([\w-]+=)?https?:\/\//.test(word)));

/**
 * Match requirement lines that refer only to packages and indexes, not to local files. The program stage.py examines
 * all other lines inside the isolation, because the local files may come with the repository.
 */
const plainLines = [
  // A comment, unless it declares an encoding: pip would read the whole file in that encoding.
  /^(#(?!.*coding[:=]).*)?$/,
  /^--(pre|prefer-binary|require-hashes|no-index)$/,
  /^(-[if] |--(index-url|extra-index-url|find-links)[ =])https?:\/\/[\w./:@%?&=+~,-]+$/,
  /^--(no-binary|only-binary|trusted-host|use-feature)[ =][A-Za-z0-9:][\w.,:-]*$/,
  // A package name with extras and versions, then optionally a marker and a comment.
  /^[A-Za-z0-9][\w .,<>=!~*+()[\]-]*(;[\w .,<>=!~*+()'"-]*)?( #.*)?$/,
  /^[A-Za-z0-9][\w.-]*(\[[\w ,.-]*\])? ?@ ?(https?|git\+https?|git\+ssh):\/\/[\w./:@%?=+~,-]+$/,
];
const archive = /\.(whl|zip|tar|tgz|tbz|txz|tlz)\b/i;
/** Matches a requirement line that has options after the package name, or that continues on the next line. */
const goesOn = /^[^#]*\s-|\\$/;
/**
 * Matches invisible line separators. pip ends a comment at such a separator, so the text after the separator could be a
 * requirement.
 */
const unseen = /\r(?!\n)|(?![\t\r\n])[\p{Cc}\p{Zl}\p{Zp}\ufeff]/u;

/** Whether the requirements may name local files. */
export const namesFiles = (requirements: string): boolean =>
  unseen.test(requirements) ||
  requirements.split("\n").some((line) => {
    const text = line.trim();
    if (!plainLines.some((plain) => plain.test(text)) || goesOn.test(text)) return true;
    return archive.test(text) && !text.includes("://");
  });
