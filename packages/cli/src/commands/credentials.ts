/**
 * `millrace credentials`: manages sets of variables for jobs. Values are read only from files, pipes and prompts, never
 * from arguments.
 */
import { type Client, type Credentials, type CredentialsInput, routes } from "@millrace/contract";
import { connect } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column, Output } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

/** Lists the variables of a set. The value is shown only for variables that are not secret. */
const variablesText = ({ variables, plain }: Credentials) =>
  variables.map((name) => (Object.hasOwn(plain, name) ? `${name}=${plain[name]}` : name)).join(", ");

const columns: Column<Credentials>[] = [
  { title: "NAME", full: ({ name }) => name, shrinks: "last" },
  { title: "OWNER", full: ({ owner }) => owner },
  { title: "DEFAULT", full: (set) => (set.default ? "yes" : "no") },
  { title: "VARIABLES", full: variablesText, shrinks: true },
  { title: "UPDATED", full: ({ updated_at }) => updated_at, short: ({ updated_at }) => updated_at.slice(0, 10) },
];

const ls: Handler<"credentials ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const list = await client.call(routes.listCredentials, { query: {} });
  if (flags.json) output.json(list);
  else if (list.length === 0)
    output.note("No credentials found. Create some: millrace credentials set NAME --file FILE");
  else output.table(columns, list);
  return 0;
};

interface Values {
  readonly file: string | undefined;
  readonly prompt: readonly string[];
}

const set: Handler<"credentials set"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  const plain = flags.plain.length > 0 ? { plain: [...flags.plain] } : {};
  const body: CredentialsInput = { name, ...plain, ...(await readValues(flags, output)) };
  if (!flags.yes) await askToDrop(client, body, flags.own);
  const route = flags.own ? routes.setOwnCredentials : routes.setTeamCredentials;
  output.print(`The credentials ${name} contain ${variablesText(await client.call(route, { body }))}`);
  return 0;
};

/**
 * Asks for confirmation if the set has variables that are not among the new values, because these variables would be
 * removed. Replacing the values of the same variables needs no confirmation.
 */
async function askToDrop(client: Client, { name, values, dotenv }: CredentialsInput, own: boolean): Promise<void> {
  const there = await findSet(client, name, own);
  const kept = new Set(values ? Object.keys(values) : namesIn(dotenv ?? ""));
  const gone = there?.variables.filter((variable) => !kept.has(variable)) ?? [];
  if (gone.length === 0) return;
  const { askToProceed } = await import("../prompt.ts");
  await askToProceed(`The credentials ${name} will no longer contain ${gone.join(", ")}.`);
}

const namesIn = (dotenv: string) =>
  [...dotenv.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/gm)].map(([, variable]) => variable);

/**
 * Returns the set with this name; undefined if there is none. Searches the user's own sets if `own` is true, otherwise
 * the sets of the team.
 */
const findSet = async (client: Client, name: string, own: boolean): Promise<Credentials | undefined> =>
  (await client.call(routes.listCredentials, { query: {} })).find(
    (set) => set.name === name && (set.owner === "team") !== own,
  );

async function readValues({ file, prompt }: Values, output: Output): Promise<Partial<CredentialsInput>> {
  if (prompt.length > 0) {
    if (file !== undefined) throw usageError("--file and --prompt cannot be combined");
    return { values: await askValues(prompt, output) };
  }
  if (file === undefined && process.stdin.isTTY) {
    throw usageError("The values of the credentials are missing", {
      why: "Expected --file FILE, --prompt VARIABLE, or values on standard input",
      next: "millrace credentials set --help",
    });
  }
  const { readText } = await import("../job/compose.ts");
  return { dotenv: file === undefined ? readText("standard input", 0) : readText(file) };
}

/** Prompts for each value without echoing it. */
async function askValues(names: readonly string[], output: Output): Promise<Record<string, string>> {
  if (!process.stdin.isTTY) throw usageError("--prompt needs a terminal", { next: "Pass the values with --file FILE" });
  const { createInterface } = await import("node:readline/promises");
  const { Writable } = await import("node:stream");
  const silent = new Writable({ write: (_bytes, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  const cancelled = new Promise<never>((_, reject) =>
    reader.once("close", () =>
      reject(new CliError("Nothing was changed", { why: "The input ended before the last value" })),
    ),
  );
  const values: Record<string, string> = {};
  try {
    for (const name of names) {
      process.stderr.write(`${name}: `);
      values[name] = await Promise.race([reader.question(""), cancelled]);
      process.stderr.write("\n");
    }
  } finally {
    cancelled.catch(() => {});
    reader.close();
  }
  output.clearProgress();
  return values;
}

const rm: Handler<"credentials rm"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  const there = flags.yes ? undefined : await findSet(client, name, flags.own);
  // If the set does not exist, nothing is asked, and the server reports the error.
  if (there) {
    const { askToProceed } = await import("../prompt.ts");
    const held = there.variables.join(", ");
    await askToProceed(`The credentials ${name} (${held}) will be deleted; jobs that name them will fail.`);
  }
  const route = flags.own ? routes.deleteOwnCredentials : routes.deleteTeamCredentials;
  output.print((await client.call(route, { body: { name } })).message);
  return 0;
};

const chooseDefault: Handler<"credentials default"> = async ({ flags, arguments: { NAME: name } }, output) => {
  if (name !== undefined && flags.none) throw usageError("NAME and --none cannot be combined");
  const { client } = await connect(flags);
  if (name !== undefined || flags.none) {
    output.print((await client.call(routes.setDefaultCredentials, { body: { name: name ?? null } })).message);
    return 0;
  }
  const chosen = (await client.call(routes.listCredentials, { query: {} })).find((set) => set.default);
  if (!chosen) throw new CliError("The team has no default credentials", { next: "millrace credentials default NAME" });
  output.print(chosen.name);
  return 0;
};

export const handlers: HandlersOf<"credentials"> = {
  "credentials ls": ls,
  "credentials set": set,
  "credentials rm": rm,
  "credentials default": chooseDefault,
};
