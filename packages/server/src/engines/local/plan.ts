/** The plan of an attempt: a few shell functions, one per phase, that the supervisor runs in the attempt's folder. */
import { readyProgram } from "../../datachain/plug-ins/plug-ins.ts";
import { jobPython } from "../../runtimes/runtime.ts";
import { runtimeOf } from "../../runtimes/runtimes.ts";
import type { JobSpec } from "../engine.ts";
import { type Phase, phases } from "./attempt/attempt-folder.ts";
import { environmentFunctions, environmentPhase } from "./environments/environments.ts";
import type { PlanInput } from "./environments/plan-input.ts";
import { quote, words } from "./processes/shell.ts";

/** Scripts of ours that run inside: the job finds them beside its other input. */
export const insideScripts = [
  "repository.sh",
  "repository-script.sh",
  "files.sh",
  "stage.py",
  "build.sh",
  "pip-settings.py",
] as const;

export function writePlan(input: PlanInput): string {
  const bodies: Record<Phase, string | undefined> = {
    repository: input.spec.repository ? repositoryPhase(input) : undefined,
    files: filesPhase(input),
    environment: input.requirements ? environmentPhase(input) : undefined,
    datasets: input.spec.store ? datasetsPhase(input) : undefined,
    query: queryPhase(input),
  };
  const used = phases.filter((phase) => bodies[phase] !== undefined);
  const functions = used.map((phase) => `${phase}() {\n  confine\n${bodies[phase]}\n}\n`);
  return [
    `phases=${quote(used.join(" "))}\nMILLRACE_VENV=\n`,
    define("confine", confine(input)),
    ...Object.entries(input.requirements ? environmentFunctions(input) : {}).map(([name, body]) => define(name, body)),
    ...functions,
  ].join("");
}

const define = (name: string, body: string) => `${name}() {\n${body}\n}\n`;

/** What holds for a phase and everything it starts. */
export function confine({
  groups,
  openFiles,
  fileBytes,
  processes,
}: Pick<PlanInput, "groups" | "openFiles" | "fileBytes" | "processes">): string {
  const lines = groups.map((file) => `  echo 0 >${quote(file)} || exit`);
  if (openFiles > 0) lines.push(`  ulimit -n ${openFiles} 2>/dev/null`);
  if (fileBytes > 0) lines.push(`  ulimit -f ${Math.ceil(fileBytes / 512)} 2>/dev/null`);
  if (processes > 0) lines.push(`  ulimit -p ${processes} 2>/dev/null`);
  return [...lines, "  true"].join("\n");
}

/** Where the revision begins in `url@revision`: at the last @ of the path, not at the one before the host. */
export function splitRevision(repository: string): { url: string; revision: string } {
  const pathStart = /^\w+:\/\//.test(repository)
    ? repository.indexOf("/", repository.indexOf("://") + 3)
    : repository.indexOf(":");
  const at = repository.lastIndexOf("@");
  if (at <= pathStart) return { url: repository, revision: "" };
  return { url: repository.slice(0, at), revision: repository.slice(at + 1) };
}

const enter = ({ isolation, folder }: PlanInput, command: string, readable: readonly string[] = []) =>
  isolation.enter({ folder, readable, command });

const script = ({ folder }: PlanInput, name: (typeof insideScripts)[number]) => folder.file(`input/${name}`);

function repositoryPhase(input: PlanInput): string {
  const { url, revision } = splitRevision(input.spec.repository ?? "");
  return enter(input, words("/bin/sh", script(input, "repository.sh"), url, revision));
}

/** After a clone, which wants an empty folder, and after a file of its own name: what was submitted is what runs. */
export const scriptComesLast = ({ repository, script, files }: JobSpec, scriptName: string) =>
  script === undefined && (repository !== null || files.some(({ name }) => name === scriptName));

/** The script under its own name there, so that no file that the job takes along can be in its place. */
export const queryFile = "query";

function filesPhase(input: PlanInput): string | undefined {
  const { spec, scriptName, folder } = input;
  const names = spec.files.flatMap(({ name }, index) => [String(index), name]);
  if (scriptComesLast(spec, scriptName)) names.push(queryFile, scriptName);
  if (names.length === 0) return undefined;
  return enter(input, words("/bin/sh", script(input, "files.sh"), folder.file("input"), ...names));
}

/** Of the environment, where there is one. */
const python = ({ requirements, interpreter }: PlanInput) =>
  requirements ? '"$MILLRACE_VENV/bin/python"' : quote(interpreter?.path ?? "");
const venvOf = ({ requirements }: PlanInput) => (requirements ? "  read -r MILLRACE_VENV <venv || exit\n" : "");

/** With the job's own interpreter: the library that it has is what the store must suit. */
function datasetsPhase(input: PlanInput): string {
  const { folder, spec, isolation, interpreter } = input;
  const command = `${python(input)} -I ${words(folder.file(`input/${readyProgram}`))}`;
  return (
    venvOf(input) +
    isolation.enter({ folder, readable: interpreter?.folders ?? [], store: spec.store ?? undefined, command })
  );
}

function queryPhase(input: PlanInput): string {
  const { spec, folder, isolation, interpreter, scriptName } = input;
  const runtime = runtimeOf(spec.queryType);
  const command = (
    spec.script !== undefined
      ? ["/bin/sh", script(input, "repository-script.sh"), spec.script, ...runtime.interpreter]
      : runtime.command(scriptName, spec.query)
  ).map((word) => (word === jobPython ? python(input) : quote(word)));
  const readable = interpreter?.folders ?? [];
  return (
    venvOf(input) + isolation.enter({ folder, readable, store: spec.store ?? undefined, command: command.join(" ") })
  );
}

/** Bash lets nobody set these, and where it is `/bin/sh` it would end over the attempt: there it goes on without. */
const readOnlyInBash = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"]);

/** Lines that a shell reads before it starts a phase. Later names win. */
export const writeEnv = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([name, value]) =>
      readOnlyInBash.has(name)
        ? `command export ${name}=${quote(value)} 2>/dev/null || :\n`
        : `export ${name}=${quote(value)}\n`,
    )
    .join("");
