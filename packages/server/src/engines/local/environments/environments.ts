/**
 * Builds the virtualenvs that jobs share. Two virtualenvs with the same key have the same content. To ensure this, a
 * build gets little of the job: the files named in the requirements, and the variables that choose a package index.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { JobSpec } from "../../engine.ts";
import { overDisk } from "../../limit-words.ts";
import { indexIsLocal, indexVariables, namesFiles } from "../../phases/requirement-lines.ts";
import { quote, words } from "../processes/shell.ts";
import type { PlanInput, PlannedJob } from "./plan-input.ts";
import { TeamEnvironments } from "./team-environments.ts";

/**
 * Returns the environment variables for the build of a virtualenv: those of the operator, and those with which the job
 * chooses a package index.
 */
export const buildSettings = (operator: Readonly<Record<string, string>>, spec: Pick<JobSpec, "environment">) => ({
  ...operator,
  ...indexVariables(spec),
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

/** What decides which virtualenv a job gets. */
type Chosen = Omit<PlannedJob, "scriptName">;

const environmentsOf = ({ tools, spec, isolation }: Chosen) =>
  new TeamEnvironments(tools.envsDir, spec.teamId, isolation.level !== "none");

/** Returns the id of the group that may enter the folder of the team's virtualenvs, if the attempt has a virtualenv. */
export const groupOf = (input: Chosen): number | undefined =>
  input.requirements === undefined ? undefined : environmentsOf(input).group;

function ownUvLines({ uv, ownUv }: PlanInput["tools"]): string {
  if (uv !== undefined || !ownUv) return "  tools=";
  const { version, list, script, folder } = ownUv;
  return `  tools=${quote(folder)} uv_version=${version} uv_list=${quote(list)} uv_script=${quote(script)} uv_settings=./tool-env`;
}

/**
 * Returns the key of the virtualenv: a hash of everything that the build gets, except the files to which the
 * requirements refer. The script environment.sh adds these files to the key.
 */
export function keyOf({ spec, tools, interpreter, requirements, buildSettings: settings }: Chosen): string {
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
  const seen = (name: string) => join(isolation.place(folder), name);
  const script = (name: string) => seen(`input/${name}`);
  const own = tools.uv === undefined && tools.ownUv ? { programs: quote(tools.ownUv.folder) } : {};
  const text = ".millrace-requirements.txt";
  const fill = (cache: string, compile: string) =>
    `/bin/sh ${quote(seen("build/build.sh"))} "$MILLRACE_VENV" ${words(python, text)} "$uv" ${words(cache, compile)}`;
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
  const staged = [script("requirements.txt"), seen("build/files"), ...settled];
  const stage = words(python, "-I", script("stage.py"), ...staged);
  return {
    stage: isolation.enter({ folder, readable, building: "work", command: stage }),
    build_wheels: isolation.enter({ folder, readable, building: "files", ...own, ...wheels }),
    build_shared: build("files"),
    build_own: build("work"),
  };
}
