/** The command of the command line that runs the same job. Values of variables are left out, as they may be secret. */
import { shellWord } from "../look/request-code.ts";
import { type Draft, inputOf } from "./draft.ts";

const endings = { PYTHON: "py", SHELL: "sh", TYPESCRIPT: "ts" } as const;

export function runCommand(team: string, draft: Draft): string {
  const input = inputOf(draft);
  const inRepository = input.script !== undefined && input.script !== null;
  const flags: [string, unknown][] = [
    ["script", input.script],
    ["name", inRepository ? input.query_name : undefined],
    ["repository", input.repository],
    ["python-version", input.python_version],
    ["workers", input.workers === 1 ? undefined : input.workers],
    ["priority", input.priority === 5 ? undefined : input.priority],
    ["cluster", input.compute_cluster_name],
    ["start-time", input.start_after],
    ["cron", input.cron_expression],
    ["timezone", input.timezone],
    ["timeout", input.timeout],
    ["retries", input.retries],
    ["retry-delay", input.retry_delay],
    ...credentials(draft).map((name): [string, unknown] => ["credentials-name", name]),
  ];
  const file = inRepository ? [] : [shellWord(draft.name.trim() || `script.${endings[draft.type]}`)];
  const lists = [
    ...list("req", draft.requirements.split("\n")),
    ...list("env-file", draft.environment.trim() === "" ? [] : [".env"]),
    ...list(
      "files",
      draft.files.map(({ id, name }) => name || id),
    ),
    ...list("params", params(input.params ?? {})),
    ...list("tag", input.tags ?? []),
  ];
  return ["millrace job run", ...file, ...flags.flatMap(one), ...lists, `--team ${shellWord(team)}`].join(" ");
}

const one = ([flag, value]: readonly [string, unknown]) =>
  value === undefined || value === null ? [] : [`--${flag} ${shellWord(String(value))}`];

const list = (flag: string, values: readonly string[]) => {
  const given = values.filter((value) => value.trim() !== "");
  return given.length === 0 ? [] : [`--${flag} ${given.map(shellWord).join(" ")}`];
};

const credentials = ({ credentials }: Draft) =>
  credentials === "default" ? [] : credentials === "none" ? [""] : credentials;

/** Texts are NAME=VALUE; anything else needs JSON. */
const params = (values: Record<string, unknown>) =>
  Object.values(values).every((value) => typeof value === "string")
    ? Object.entries(values).map(([name, value]) => `${name}=${value}`)
    : [JSON.stringify(values)];
