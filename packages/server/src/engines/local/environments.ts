/**
 * Environments that jobs share. What is in one follows from its key alone: it is built with the operator's variables,
 * in a folder that holds nothing of the job's but the files that its requirements name.
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JobSpec } from "../engine.ts";
import type { PlanInput } from "./plan.ts";
import { quote, words } from "./shell.ts";

/** Which index to install from is for the job to say, and part of the key. What else it sets is not for the build. */
const indexVariable = /^(PIP|UV)_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|NO_INDEX|TRUSTED_HOST|INSECURE_HOST)$/;

/** The operator's variables, and the job's choice of an index. */
export const buildSettings = (operator: Readonly<Record<string, string>>, { environment }: JobSpec) => ({
  ...operator,
  ...Object.fromEntries(Object.entries(environment).filter(([name]) => indexVariable.test(name))),
});

/** An index that is a folder, or a `file:` URL, has contents that no key tells. */
export const indexIsLocal = ({ environment }: Pick<JobSpec, "environment">): boolean =>
  Object.entries(environment)
    .filter(([name]) => indexVariable.test(name) && /INDEX(_URL)?$/.test(name) && !name.endsWith("NO_INDEX"))
    .some(([, value]) => value.split(/\s+/).some((word) => word !== "" && !/^([\w-]+=)?https?:\/\//.test(word)));

/**
 * Lines that name packages and indexes, and no file of ours or folder. What is anything else is looked at more closely,
 * inside (stage.py): requirements may come with the repository.
 */
const plainLines = [
  // pip reads a file in the encoding that its first comment declares.
  /^(#(?!.*coding[:=]).*)?$/,
  /^--(pre|prefer-binary|require-hashes|no-index)$/,
  /^(-[if] |--(index-url|extra-index-url|find-links)[ =])https?:\/\/[\w./:@%?&=+~,-]+$/,
  /^--(no-binary|only-binary|trusted-host|use-feature)[ =][A-Za-z0-9:][\w.,:-]*$/,
  // A name with extras and versions, a marker, a comment.
  /^[A-Za-z0-9][\w .,<>=!~*+()[\]-]*(;[\w .,<>=!~*+()'"-]*)?( #.*)?$/,
  /^[A-Za-z0-9][\w.-]*(\[[\w ,.-]*\])? ?@ ?(https?|git\+https?|git\+ssh):\/\/[\w./:@%?=+~,-]+$/,
];
const archive = /\.(whl|zip|tar|tgz|tbz|txz|tlz)\b/i;
/** Options behind a name, and a line that goes on in the next. */
const goesOn = /^[^#]*\s-|\\$/;
/** More ends of lines than one can see: to pip a comment ends at each of them. */
const unseen = /\r(?!\n)|(?![\t\r\n])[\p{Cc}\p{Zl}\p{Zp}\ufeff]/u;

export const namesFiles = (requirements: string): boolean =>
  unseen.test(requirements) ||
  requirements.split("\n").some((line) => {
    const text = line.trim();
    if (!plainLines.some((plain) => plain.test(text)) || goesOn.test(text)) return true;
    return archive.test(text) && !text.includes("://");
  });

/** Those of one team lie together: what a team keeps is counted. */
const teamEnvironments = ({ tools, spec }: Pick<PlanInput, "tools" | "spec">) =>
  join(tools.envsDir, String(spec.teamId));

/** Everybody may pass: what lies there is closed, or to be read. */
export const makeTeamEnvironments = (input: Pick<PlanInput, "tools" | "spec">) =>
  mkdirSync(teamEnvironments(input), { recursive: true, mode: 0o711 });

export function environmentPhase(input: PlanInput): string {
  const { folder, isolation, spec, requirements = "" } = input;
  const owner = isolation.level === "none" || folder.owner() === process.getuid?.() ? "" : String(folder.owner());
  return [
    `  envs=${quote(teamEnvironments(input))} key=${keyOf(input)}`,
    `  named=${namesFiles(requirements) || indexIsLocal(spec) ? "yes" : ""} owner=${owner}`,
    `  evict() { ${isolation.evict(folder)}; }`,
    `  . ${quote(input.tools.environmentScript)}`,
  ].join("\n");
}

/** Everything that the build is given; the files that requirements name come to it where they are at hand. */
function keyOf({ spec, tools, interpreter, requirements, buildSettings: settings }: PlanInput): string {
  const { teamId, person } = spec;
  const { platform, arch } = process;
  const sorted = Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = { teamId, person, interpreter, platform, arch, uv: tools.uv, requirements, settings: sorted };
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40);
}

/** What environment.sh calls. */
export function environmentFunctions(input: PlanInput): Record<string, string> {
  const { isolation, folder, interpreter, tools, spec } = input;
  const readable = [...(interpreter?.folders ?? []), ...(tools.uv ? [tools.uv] : [])];
  const python = interpreter?.path ?? "";
  const script = (name: string) => folder.file(`input/${name}`);
  const build = (building: "files" | "work", text: string) => {
    const rest = words(python, text, tools.uv ?? "");
    const command = `/bin/sh ${quote(script("build.sh"))} "$MILLRACE_VENV" ${rest}`;
    return isolation.enter({ folder, readable, building, command });
  };
  const settled = indexIsLocal(spec) ? ["own"] : [];
  const staged = [script("requirements.txt"), folder.file("build/files"), ...settled];
  const stage = words(python, "-I", script("stage.py"), ...staged);
  return {
    stage: isolation.enter({ folder, readable, building: "work", command: stage }),
    build_shared: build("files", ".millrace-requirements.txt"),
    build_own: build("work", ".millrace-requirements.txt"),
  };
}
