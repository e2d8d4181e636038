/** `millrace cluster`: manages the clusters that jobs run on, for administrators of the server. */
import { readFileSync } from "node:fs";
import {
  type ClusterState,
  type ClusterTest,
  clusterStates,
  type EngineKindName,
  engineKindNames,
  engineKinds,
  type ManagedCluster,
  type RouteInput,
  routes,
} from "@millrace/contract";
import { connect } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column, Output } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

type Settings = RouteInput<typeof routes.updateCluster>["body"];

const defaultText = ({ default: isDefault, default_of }: ManagedCluster) =>
  isDefault ? "yes" : default_of.map((team) => `of ${team}`).join(", ") || "no";

const columns: Column<ManagedCluster>[] = [
  { title: "NAME", full: (cluster) => cluster.name },
  { title: "ENGINE", full: (cluster) => cluster.engine },
  { title: "STATUS", full: (cluster) => cluster.status },
  { title: "BUSY", full: (cluster) => `${cluster.busy_workers}/${cluster.max_workers}` },
  { title: "WAITING", full: (cluster) => String(cluster.waiting_jobs) },
  { title: "ISOLATION", full: (cluster) => cluster.isolation },
  { title: "TEAMS", full: (cluster) => cluster.teams?.join(", ") ?? "all", shrinks: true },
  { title: "DEFAULT", full: defaultText, shrinks: true },
];

function show(cluster: ManagedCluster, json: boolean, output: Output): number {
  if (json) output.json(cluster);
  else
    output.fields([
      ["name", cluster.name],
      ["engine", cluster.engine],
      ["status", cluster.status],
      ...(cluster.status_reason === null ? [] : [["why", cluster.status_reason] as [string, string]]),
      ["slots", `${cluster.busy_workers} of ${cluster.max_workers} in use`],
      ["waiting jobs", String(cluster.waiting_jobs)],
      ["isolation", cluster.isolation],
      ["teams", cluster.teams?.join(", ") ?? "all"],
      ["default", defaultText(cluster)],
      ...Object.entries(cluster.options).map(([name, value]): [string, string] => [`option ${name}`, textOf(value)]),
      ...cluster.secrets.map((name): [string, string] => [`secret ${name}`, "set"]),
    ]);
  return 0;
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

interface SettingFlags {
  readonly "max-workers": number | undefined;
  readonly option: readonly string[];
  readonly secret: readonly string[];
  readonly for: readonly string[];
  readonly "default-of": readonly string[];
  readonly default: boolean;
  readonly "share-unisolated": boolean;
}

function settingsOf(flags: SettingFlags, engine: EngineKindName | undefined): Settings {
  const options = optionsOf(flags.option, engine);
  return {
    ...(flags["max-workers"] === undefined ? {} : { max_workers: flags["max-workers"] }),
    ...(flags.for.length === 0 ? {} : { teams: flags.for.includes("all") ? [] : [...flags.for] }),
    ...(flags["default-of"].length === 0 ? {} : { default_of: flags["default-of"].filter((team) => team !== "none") }),
    ...(flags.default ? { default: true } : {}),
    ...(flags["share-unisolated"] ? { shares_unisolated: true } : {}),
    ...(flags.secret.length === 0 ? {} : { secrets: Object.fromEntries(flags.secret.map(readSecret)) }),
    ...(engine === undefined || flags.option.length === 0 ? {} : { [engine]: options }),
  };
}

/** Splits KEY=VALUE. */
function pairOf(flag: string, text: string): [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError(`${flag} expects KEY=VALUE, got '${text}'`, { next: "millrace cluster add --help" });
}

/** Reads options as the engine's schema types them: texts as they are, everything else as JSON. */
function optionsOf(texts: readonly string[], engine: EngineKindName | undefined): Record<string, unknown> {
  if (texts.length === 0) return {};
  if (engine === undefined)
    throw usageError("The machine of the server has no options", { why: "Its settings are in the configuration" });
  const known = engineKinds[engine].options.properties as Readonly<Record<string, { readonly type?: unknown }>>;
  return Object.fromEntries(
    texts.map((text) => {
      const [name, value] = pairOf("--option", text);
      const field = known[name];
      if (field === undefined)
        throw usageError(`Unknown option '${name}' of ${engine}`, { why: `Options: ${Object.keys(known).join(", ")}` });
      return [name, field.type === "string" ? value : readJson(name, value)];
    }),
  );
}

function readJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(`The option ${name} expects JSON, such as 10, true or ["a"], got '${text}'`);
  }
}

/** Reads KEY=@FILE. A value on the command line would be visible to other users of the machine. */
function readSecret(text: string): [string, string] {
  const [name, value] = pairOf("--secret", text);
  if (value === "") return [name, ""];
  if (!value.startsWith("@"))
    throw usageError(`--secret ${name} expects @FILE`, {
      why: "Other users of this machine could see a secret on the command line",
      next: `--secret ${name}=@FILE, or ${name}=@/dev/stdin`,
    });
  try {
    return [name, readFileSync(value.slice(1), "utf8").trim()];
  } catch (error) {
    throw new CliError(`The secret ${name} cannot be read`, { why: (error as Error).message });
  }
}

const engineOf = (text: string): EngineKindName => {
  const found = engineKindNames.find((kind) => kind === text.toLowerCase());
  if (found) return found;
  throw usageError(`Unknown engine '${text}'`, { why: `Expected ${engineKindNames.join(", ")}` });
};

const add: Handler<"cluster add"> = async ({ flags, arguments: { NAME: name } }, output) => {
  if (flags.engine === undefined)
    throw usageError("--engine is missing", { why: `Expected ${engineKindNames.join(", ")}` });
  if (flags["max-workers"] === undefined)
    throw usageError("--max-workers is missing", { why: "It is the number of slots that jobs may occupy at a time" });
  const engine = engineOf(flags.engine);
  const { client } = await connect(flags);
  const body = { name, engine, ...settingsOf(flags, engine), max_workers: flags["max-workers"] };
  const cluster = await client.call(routes.createCluster, { body });
  if (flags.json) return show(cluster, true, output);
  output.print(`Added cluster ${name}`);
  output.note(`Try it: millrace cluster test ${name}`);
  return 0;
};

const ls: Handler<"cluster ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const clusters = await client.call(routes.listManagedClusters, {});
  if (flags.json) output.json(clusters);
  else output.table(columns, clusters);
  return 0;
};

const showOne: Handler<"cluster show"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  return show(await client.call(routes.getManagedCluster, { params: { cluster_name: name } }), flags.json, output);
};

const set: Handler<"cluster set"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  const { engine } = await client.call(routes.getManagedCluster, { params: { cluster_name: name } });
  const state = flags.state === undefined ? {} : { state: stateOf(flags.state) };
  const body = {
    ...state,
    ...settingsOf(
      flags,
      engineKindNames.find((kind) => kind === engine),
    ),
  };
  if (Object.keys(body).length === 0)
    throw usageError("There is nothing to change: give at least one flag", { next: "millrace cluster set --help" });
  return show(await client.call(routes.updateCluster, { params: { cluster_name: name }, body }), flags.json, output);
};

function stateOf(text: string): ClusterState {
  const found = clusterStates.find((state) => state === text.toUpperCase());
  if (found) return found;
  throw usageError(`Unknown state '${text}'`, { why: `Expected ${clusterStates.join(", ").toLowerCase()}` });
}

const drain: Handler<"cluster drain"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  const body = { state: "DRAINING" } as const;
  const { busy_workers, waiting_jobs } = await client.call(routes.updateCluster, {
    params: { cluster_name: name },
    body,
  });
  output.print(`Cluster ${name} is draining: ${busy_workers} slots are in use, ${waiting_jobs} jobs wait`);
  output.note(`To accept jobs again: millrace cluster set ${name} --state active`);
  return 0;
};

const test: Handler<"cluster test"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  const seconds = flags.seconds ?? 60;
  output.note(`Running a job that does nothing on ${name}; this takes up to ${seconds} seconds`);
  const result = await client.call(routes.testCluster, { params: { cluster_name: name }, body: { seconds } });
  if (flags.json) output.json(result);
  else for (const line of testLines(result)) output.print(line);
  return result.ok ? 0 : 1;
};

const testLines = ({ ok, steps }: ClusterTest): string[] => [
  ...steps.map((step) => `${step.ok ? "ok    " : "failed"}  ${step.name} (${step.seconds} s): ${step.message}`),
  ok ? "The cluster works." : "The cluster does not work yet.",
];

const remove: Handler<"cluster remove"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  if (!flags.yes) {
    const { askOnTerminal } = await import("../prompt.ts");
    await askOnTerminal(
      async () =>
        `The cluster ${name} will be removed with its options and secrets. ${flags.force ? "Jobs that run or wait there fail." : "Jobs that ran on it stay."}`,
    );
  }
  const { message } = await client.call(routes.deleteCluster, {
    params: { cluster_name: name },
    query: flags.force ? { force: true } : {},
  });
  output.print(message);
  return 0;
};

export const handlers: HandlersOf<
  "cluster add" | "cluster ls" | "cluster show" | "cluster set" | "cluster drain" | "cluster test" | "cluster remove"
> = {
  "cluster add": add,
  "cluster ls": ls,
  "cluster show": showOne,
  "cluster set": set,
  "cluster drain": drain,
  "cluster test": test,
  "cluster remove": remove,
};
