/**
 * Builds the virtualenvs that jobs share. Two virtualenvs with the same key have the same content. To ensure this, a
 * build gets little of the job: the files named in the requirements, and the variables that choose a package index.
 */
import { createHash } from "node:crypto";
import type { JobSpec } from "../../engine.ts";
import { overDisk } from "../attempt/limits.ts";
import { quote, words } from "../processes/shell.ts";
import type { PlanInput } from "./plan-input.ts";
import { TeamEnvironments } from "./team-environments.ts";

/**
 * Matches variables that choose the package index. A job may set only these variables for the build of its virtualenv.
 * They are part of the virtualenv's key.
 */
const indexVariable = /^(PIP|UV)_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|NO_INDEX|TRUSTED_HOST|INSECURE_HOST)$/;

/**
 * Returns the environment variables for the build of a virtualenv: those of the operator, and those with which the job
 * chooses a package index.
 */
export const buildSettings = (
  operator: Readonly<Record<string, string>>,
  { environment }: Pick<JobSpec, "environment">,
) => ({
  ...operator,
  ...Object.fromEntries(Object.entries(environment).filter(([name]) => indexVariable.test(name))),
});

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

/**
 * Returns false if a direct reference (`@`) or `--no-binary` makes the installer build a package from source, which
 * runs code of that package. Otherwise wheels from an index may be enough.
 */
const wantsWheels = (requirements: string) => !/@|--no-binary/.test(requirements);

export function environmentPhase(input: PlanInput): string {
  const { folder, isolation, interpreter, tools, spec, requirements = "" } = input;
  const { folder: envs, keeper } = environmentsOf(input);
  const named = namesFiles(requirements) || indexIsLocal(spec);
  const wheels = isolation.level !== "none" && !named && wantsWheels(requirements);
  const owner = isolation.level === "none" || folder.owner() === process.getuid?.() ? "" : String(folder.owner());
  return [
    `  envs=${quote(envs)} key=${keyOf(input)} named=${named ? "yes" : ""} owner=${owner}`,
    `  python=${quote(interpreter?.path ?? "")} version=${quote(interpreter?.version ?? "")}`,
    `  folders=${quote((interpreter?.folders ?? []).join("\n"))}`,
    `  wheels=${wheels ? "yes" : ""} keeper=${keeper ?? ""} uv=${quote(tools.uv ?? "")}`,
    ownUvLines(tools),
    `  most=${input.disk} over=${quote(overDisk(input))}`,
    `  evict() { ${isolation.evict(folder)}; }`,
    `  . ${quote(input.tools.environmentScript)}`,
  ].join("\n");
}

const environmentsOf = ({ tools, spec, isolation }: PlanInput) =>
  new TeamEnvironments(tools.envsDir, spec.teamId, isolation.level !== "none");

/** Returns the id of the group that may enter the folder of the team's virtualenvs, if the attempt has a virtualenv. */
export const groupOf = (input: PlanInput): number | undefined =>
  input.requirements === undefined ? undefined : environmentsOf(input).group;

function ownUvLines({ uv, ownUv }: PlanInput["tools"]): string {
  if (uv !== undefined || !ownUv) return "  tools=";
  const { version, list, script, folder } = ownUv;
  return `  tools=${quote(folder)} uv_version=${version} uv_list=${quote(list)} uv_script=${quote(script)}`;
}

/**
 * Returns the key of the virtualenv: a hash of everything that the build gets, except the files to which the
 * requirements refer. The script environment.sh adds these files to the key.
 */
function keyOf({ spec, tools, interpreter, requirements, buildSettings: settings }: PlanInput): string {
  const { teamId, person } = spec;
  const { platform, arch } = process;
  const sorted = Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1));
  // If the server's own uv cannot be installed, pip builds instead and installs the same packages, so the key is the same.
  const uv = tools.uv ?? tools.ownUv?.version;
  const parts = { teamId, person, interpreter, platform, arch, uv, requirements, settings: sorted };
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40);
}

/** Returns the bodies of the shell functions that environment.sh calls, by name. */
export function environmentFunctions(input: PlanInput): Record<string, string> {
  const { isolation, folder, interpreter, tools, spec } = input;
  const readable = [...(interpreter?.folders ?? []), ...(tools.uv ? [tools.uv] : [])];
  const python = interpreter?.path ?? "";
  const script = (name: string) => folder.file(`input/${name}`);
  const own = tools.uv === undefined && tools.ownUv ? { programs: quote(tools.ownUv.folder) } : {};
  const text = ".millrace-requirements.txt";
  const fill = (cache: string, compile: string) =>
    `/bin/sh ${quote(folder.file("build/build.sh"))} "$MILLRACE_VENV" ${words(python, text)} "$uv" ${words(cache, compile)}`;
  // Without isolation, jobs can write to the virtualenv and Python compiles modules on import, so the build need not.
  const build = (building: "files" | "work") =>
    isolation.enter({
      ...{ folder, readable, building, ...own, environments: groupOf(input) },
      command: fill("", isolation.level === "none" ? "" : "yes"),
    });
  const { folder: envs, keeper, cache } = environmentsOf(input);
  const environments = groupOf(input);
  const wheels = { user: keeper, writable: quote(envs), environments, command: fill(cache, "") };
  const settled = indexIsLocal(spec) ? ["own"] : [];
  const staged = [script("requirements.txt"), folder.file("build/files"), ...settled];
  const stage = words(python, "-I", script("stage.py"), ...staged);
  return {
    stage: isolation.enter({ folder, readable, building: "work", command: stage }),
    build_wheels: isolation.enter({ folder, readable, building: "files", ...own, ...wheels }),
    build_shared: build("files"),
    build_own: build("work"),
  };
}
