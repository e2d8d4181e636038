/**
 * Writes the plan of an attempt: a shell function for each phase. The supervisor runs these functions in the attempt's
 * folder.
 */
import { join } from "node:path";
import { readyProgram } from "../../../datachain/plug-ins/plug-ins.ts";
import { jobPython } from "../../../runtimes/runtime.ts";
import { runtimeOf } from "../../../runtimes/runtimes.ts";
import type { InsideScript } from "../../phases/inside-scripts.ts";
import { splitRevision } from "../../phases/job-script.ts";
import { type Phase, phases } from "../../phases/steps.ts";
import type { LocalSpec } from "../attempt/local-spec.ts";
import { environmentFunctions, environmentPhase, groupOf } from "../environments/environments.ts";
import type { PlanInput } from "../environments/plan-input.ts";
import { quote, words } from "../processes/shell.ts";

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

/** Priority at which a waiting interpreter imports the library, if the server can raise it again for the job. */
const importNiceness = 10;
const isRoot = process.getuid?.() === 0;

/** Returns the plan of an interpreter that waits for a job: the query with an unknown script of this name. */
export const writeWaitingPlan = (input: PlanInput, venv: string): string =>
  [
    `MILLRACE_VENV=${quote(venv)}\nniceness=${isRoot ? importNiceness : ""}\n`,
    define("confine", confine(input)),
    define("query", `  confine\n${enterQuery(input)}`),
  ].join("");

const define = (name: string, body: string) => `${name}() {\n${body}\n}\n`;

/** Returns shell commands that set the limits of a phase and of all processes it starts. */
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

const enter = ({ isolation, folder }: PlanInput, command: string, readable: readonly string[] = []) =>
  isolation.enter({ folder, readable, command });

/** Returns the path of a file in the input folder, as the job sees it. */
const given = ({ folder, isolation }: PlanInput, name: string) => join(isolation.place(folder), "input", name);
const script = (input: PlanInput, name: InsideScript) => given(input, name);

function repositoryPhase(input: PlanInput): string {
  const { url, revision } = splitRevision(input.spec.repository ?? "");
  return enter(input, words("/bin/sh", script(input, "repository.sh"), url, revision));
}

/**
 * Whether the script is written after the repository is cloned and the attached files are copied. Git clones only into
 * an empty folder, and an attached file with the script's name must not replace the script.
 */
export const scriptComesLast = ({ repository, script, files }: LocalSpec, scriptName: string) =>
  script === undefined && (repository !== null || files.some(({ name }) => name === scriptName));

/** Name of the script in the input folder. Attached files have numbers as names there, so none can have this name. */
export const queryFile = "query";

function filesPhase(input: PlanInput): string | undefined {
  const { spec, scriptName } = input;
  const names = spec.files.flatMap(({ name }, index) => [String(index), name]);
  if (scriptComesLast(spec, scriptName)) names.push(queryFile, scriptName);
  if (names.length === 0) return undefined;
  return enter(input, words("/bin/sh", script(input, "files.sh"), given(input, ""), ...names));
}

/**
 * Returns the shell word for the job's Python. That is the Python of the virtualenv if the job has requirements,
 * otherwise the machine's Python.
 */
const python = ({ requirements, interpreter }: PlanInput) =>
  requirements ? '"$MILLRACE_VENV/bin/python"' : quote(interpreter?.path ?? "");
const venvOf = ({ requirements }: PlanInput) => (requirements ? "  read -r MILLRACE_VENV <venv || exit\n" : "");

/**
 * Returns the shell commands that prepare the team's warehouse. They use the job's own Python, because the version of
 * the dataset library must match the warehouse.
 */
function datasetsPhase(input: PlanInput): string {
  const { folder, isolation, interpreter } = input;
  const command = `${python(input)} -I ${words(given(input, readyProgram))}`;
  return (
    venvOf(input) + isolation.enter({ ...teamAccess(input), folder, readable: interpreter?.folders ?? [], command })
  );
}

/** What a command gets of its team: the warehouse and the virtualenvs. */
const teamAccess = (input: PlanInput) => ({ store: input.spec.store ?? undefined, environments: groupOf(input) });

const queryPhase = (input: PlanInput): string => venvOf(input) + enterQuery(input);

function enterQuery(input: PlanInput): string {
  const { spec, folder, isolation, interpreter, scriptName } = input;
  const runtime = runtimeOf(spec.queryType);
  const command = (
    spec.script !== undefined
      ? ["/bin/sh", script(input, "repository-script.sh"), spec.script, ...runtime.interpreter]
      : runtime.command(scriptName, spec.query)
  ).map((word) => (word === jobPython ? python(input) : quote(word)));
  const readable = interpreter?.folders ?? [];
  return isolation.enter({ ...teamAccess(input), folder, readable, command: command.join(" ") });
}

/** Variables that are read-only in bash. If `/bin/sh` is bash, exporting any of them would end the shell. */
const readOnlyInBash = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"]);

/**
 * Returns export commands that a shell reads before it starts a phase. Variables that bash refuses to set are skipped.
 */
export const writeEnv = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([name, value]) =>
      readOnlyInBash.has(name)
        ? `command export ${name}=${quote(value)} 2>/dev/null || :\n`
        : `export ${name}=${quote(value)}\n`,
    )
    .join("");
