/**
 * Reads and validates all settings. Each setting has an environment variable, and no other file reads these variables.
 * `millrace doctor` prints the settings.
 */
import { data } from "./groups/data.ts";
import { exports } from "./groups/exports.ts";
import { jobs } from "./groups/jobs.ts";
import { keys } from "./groups/keys.ts";
import { limits } from "./groups/limits.ts";
import { listening } from "./groups/listening.ts";
import { localEngine } from "./groups/local-engine.ts";
import { logging } from "./groups/logging.ts";
import { mail } from "./groups/mail.ts";
import { quotas } from "./groups/quotas.ts";
import { requests } from "./groups/requests.ts";
import { retention } from "./groups/retention.ts";
import { storage } from "./groups/storage.ts";
import { testing } from "./groups/testing.ts";
import { warehouses } from "./groups/warehouses.ts";
import { webhooks } from "./groups/webhooks.ts";
import { jobEnvironment } from "./job-environment.ts";
import type { Group, Setting, Values } from "./setting.ts";

/** All groups of settings, in the order of the documentation. */
export const groups = {
  listening,
  requests,
  data,
  keys,
  jobs,
  limits,
  localEngine,
  warehouses,
  exports,
  quotas,
  retention,
  storage,
  webhooks,
  mail,
  logging,
  testing,
};

type Groups = { readonly [G in keyof typeof groups]: Values<(typeof groups)[G]> };
type Source = "flag" | "environment" | "default";

export interface Config extends Groups {
  /** Variables of the server's environment that jobs may see: paths, proxies, certificates, package indexes. */
  readonly jobEnvironment: Readonly<Record<string, string>>;
  /** Environment variables in which the storage library looks for credentials and parameters. */
  readonly storageEnvironment: Readonly<Record<string, string | undefined>>;
  /** Where each setting came from, by the name of its environment variable. */
  readonly sources: Readonly<Record<string, Source>>;
}

type Flags = Readonly<Record<string, string | undefined>>;

export function readConfig(flags: Flags = {}, env: NodeJS.ProcessEnv = process.env): Config {
  const sources: Record<string, Source> = {};
  const values: Record<string, Record<string, unknown>> = {};
  for (const [groupName, { settings }] of Object.entries<Group>(groups)) {
    const ofGroup: Record<string, unknown> = {};
    for (const [name, definition] of Object.entries(settings)) {
      const given = textOf(definition, flags, env);
      ofGroup[name] = parsed(definition, given);
      sources[definition.env] = given.source;
    }
    values[groupName] = ofGroup;
  }
  return { ...(values as unknown as Groups), jobEnvironment: jobEnvironment(env), storageEnvironment: env, sources };
}

interface Given {
  readonly text: string;
  readonly source: Source;
}

/** Returns the text of a setting. A flag takes precedence over the environment; an empty variable counts as not set. */
function textOf({ flag, env: variable, fallback }: Setting<unknown>, flags: Flags, env: NodeJS.ProcessEnv): Given {
  const fromFlag = flag === undefined ? undefined : flags[flag];
  if (fromFlag !== undefined) return { text: fromFlag, source: "flag" };
  const fromEnv = env[variable];
  return fromEnv ? { text: fromEnv, source: "environment" } : { text: fallback, source: "default" };
}

function parsed(definition: Setting<unknown>, { text, source }: Given): unknown {
  try {
    return definition.parse(text);
  } catch (error) {
    const where = source === "flag" ? `--${definition.flag}` : definition.env;
    throw new Error(`${where}: ${(error as Error).message}, got ${JSON.stringify(definition.secret ? "…" : text)}`);
  }
}

export interface ConfigRow {
  name: string;
  env: string;
  flag: string | null;
  value: string;
  source: Source;
  description: string;
}

export const configRows = (config: Config): ConfigRow[] =>
  Object.entries<Group>(groups).flatMap(([groupName, { settings }]) => {
    const values = config[groupName as keyof Groups] as Readonly<Record<string, unknown>>;
    return Object.entries(settings).map(([name, definition]) => ({
      name: nameOf(definition),
      env: definition.env,
      flag: definition.flag ?? null,
      value: definition.secret ? (isSet(values[name]) ? "(set)" : "") : shown(values[name]),
      source: config.sources[definition.env] ?? "default",
      description: definition.description,
    }));
  });

/** Returns the name of a setting in the output of doctor: MILLRACE_JOB_LOG becomes jobLog. */
const nameOf = ({ env }: Setting<unknown>) =>
  env
    .replace("MILLRACE_", "")
    .toLowerCase()
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const isSet = (value: unknown) => (value as string | readonly unknown[]).length > 0;
const shown = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));
