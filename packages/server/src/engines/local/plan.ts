/** The plan of an attempt: a few shell functions, one per phase, that the supervisor runs. */
import { createHash } from "node:crypto";
import type { JobSpec } from "../engine.ts";
import { type AttemptFolder, type Phase, phases } from "./attempt-folder.ts";
import type { Interpreter } from "./interpreters.ts";

export const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export interface Toolbox {
  /** Absolute paths: a job's own PATH must not decide what starts it. */
  readonly setsid: string;
  readonly env: string;
  readonly uv: string | undefined;
  readonly environmentScript: string;
  readonly repositoryScript: string;
  readonly envsDir: string;
}

export interface PlanInput {
  readonly spec: JobSpec;
  readonly folder: AttemptFolder;
  readonly tools: Toolbox;
  readonly scriptName: string;
  /** For Python jobs. */
  readonly interpreter: Interpreter | undefined;
  /** Text of the requirements, with what the query needs beyond them. */
  readonly requirements: string | undefined;
}

export function writePlan(input: PlanInput): string {
  const bodies: Record<Phase, string | undefined> = {
    repository: input.spec.repository ? repositoryPhase(input) : undefined,
    files: filesPhase(input),
    environment: input.requirements ? environmentPhase(input) : undefined,
    query: queryPhase(input),
  };
  const used = phases.filter((phase) => bodies[phase] !== undefined);
  const functions = used.map((phase) => `${phase}() {\n  cd ./work || exit\n  . ../env\n${bodies[phase]}\n}\n`);
  return `phases=${quote(used.join(" "))}\n${functions.join("")}`;
}

/**
 * A background child of a shell has INT and QUIT ignored, and a shell cannot undo that for itself; `env` can. A session
 * of its own keeps the supervisor out of whatever the job signals.
 */
const exec = ({ tools }: PlanInput, ...words: string[]) =>
  `  exec ${[tools.env, "--default-signal=INT,QUIT", tools.setsid, ...words].map(quote).join(" ")}`;

/** Where the revision begins in `url@revision`: at the last @ of the path, not at the one before the host. */
export function splitRevision(repository: string): { url: string; revision: string } {
  const pathStart = /^\w+:\/\//.test(repository)
    ? repository.indexOf("/", repository.indexOf("://") + 3)
    : repository.indexOf(":");
  const at = repository.lastIndexOf("@");
  if (at <= pathStart) return { url: repository, revision: "" };
  return { url: repository.slice(0, at), revision: repository.slice(at + 1) };
}

function repositoryPhase(input: PlanInput): string {
  const { url, revision } = splitRevision(input.spec.repository ?? "");
  return exec(input, "/bin/sh", input.tools.repositoryScript, url, revision);
}

/** After a clone, which wants an empty folder, and after a file of its own name: what was submitted is what runs. */
export const scriptComesLast = ({ repository, files }: JobSpec, scriptName: string) =>
  repository !== null || files.some(({ name }) => name === scriptName);

/** A repository may hold a link under the name of a file: the destination is replaced, never written through. */
function filesPhase({ spec, scriptName }: PlanInput): string | undefined {
  const copies = spec.files.map(({ path, name }) => [path, name]);
  const last = scriptComesLast(spec, scriptName);
  if (last) copies.push(["../query", scriptName]);
  if (copies.length === 0) return undefined;
  const lines = copies.map(
    ([from = "", to = ""]) => `  cp --remove-destination -- ${quote(from)} ${quote(`./${to}`)} || exit`,
  );
  return [...lines, ...(last ? [`  chmod u+x ${quote(`./${scriptName}`)}`] : [])].join("\n");
}

function environmentPhase(input: PlanInput): string {
  const { spec, folder, tools, interpreter, requirements = "" } = input;
  const named = namedFiles(requirements);
  const key = createHash("sha256")
    .update(
      JSON.stringify([spec.teamId, interpreter, process.platform, process.arch, requirements, indexSettings(spec)]),
    )
    .digest("hex")
    .slice(0, 40);
  // An editable or folder install points into this job's own folder: such an environment cannot be shared.
  const envs = requirements.split("\n").some(namesFolder) ? folder.file("own-env") : tools.envsDir;
  const words = [
    envs,
    key,
    interpreter?.path ?? "",
    folder.file("requirements.txt"),
    tools.uv ?? "",
    folder.file("venv"),
    ...named,
  ];
  return exec(input, "/bin/sh", tools.environmentScript, ...words);
}

/** `-e .`, `.`, `./package`, `../package/`; not `./package-1.0.whl`. */
function namesFolder(line: string): boolean {
  const text = line.trim();
  return (
    /^(-e|--editable)\b/.test(text) || text === "." || (/^\.{0,2}\/\S*$/.test(text) && namedFiles(text).length === 0)
  );
}

/** Two jobs that install from different places do not share what they installed. */
const indexSettings = (spec: JobSpec) => Object.entries(spec.environment).filter(([name]) => /^(PIP|UV)_/.test(name));

/** Local files that requirements name: other lists, constraints, wheels and archives. */
export function namedFiles(requirements: string): string[] {
  return requirements.split("\n").flatMap((line) => {
    const text = line.trim();
    const option = /^(?:-r|-c|--requirement|--constraint)[ \t=]+(\S+)/.exec(text)?.[1];
    const archive = /^(?:file:)?[\w./-]+$/.test(text) && /\.(whl|zip|tar\.gz)$/.test(text) ? text : undefined;
    const name = option ?? archive;
    return name && !/^\w+:\/\//.test(name) ? [name.replace(/^file:/, "")] : [];
  });
}

function queryPhase(input: PlanInput): string {
  const { spec, interpreter, folder, requirements, scriptName } = input;
  const venv = requirements
    ? `  VIRTUAL_ENV=${quote(folder.file("venv"))} PATH=${quote(folder.file("venv/bin"))}:$PATH\n  export VIRTUAL_ENV PATH\n`
    : "";
  if (spec.queryType === "PYTHON") {
    return venv + exec(input, requirements ? folder.file("venv/bin/python") : (interpreter?.path ?? ""), scriptName);
  }
  // A script that names its interpreter gets it.
  return venv + exec(input, ...(spec.query.startsWith("#!") ? [] : ["/bin/sh"]), `./${scriptName}`);
}

/** Lines that a shell reads before it starts a phase. Later names win. */
export const writeEnv = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([name, value]) => `export ${name}=${quote(value)}\n`)
    .join("");
