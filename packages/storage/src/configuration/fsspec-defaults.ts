/**
 * Reads fsspec's defaults for a scheme from a variable, such as `FSSPEC_S3`, and from the files in fsspec's
 * configuration folder. The variable wins over the files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { StorageError } from "../errors.ts";
import { parseIni } from "./ini.ts";
import type { ClientConfig, Environment } from "./parameters.ts";

/** fsspec's defaults for one name of a scheme. */
export interface NamedDefaults {
  readonly name: string;
  readonly places: readonly DefaultsPlace[];
}

export interface DefaultsPlace {
  /** Name of the place in explanations, such as `environment FSSPEC_S3` or `file /path`. */
  readonly name: string;
  readonly values: ClientConfig;
}

/**
 * Returns the defaults for each name of a scheme, such as `gs` and `gcs`. The result is in order of precedence: the
 * last name in `names` comes first.
 */
export const fsspecDefaults = (names: readonly string[], environment: Environment): NamedDefaults[] =>
  names.toReversed().map((name) => ({ name, places: placesOf(name, environment) }));

/**
 * Returns the variable and the files with defaults for a scheme, in order of precedence. Other programs read them too,
 * so they may contain keys that are unknown here.
 */
function placesOf(scheme: string, environment: Environment): DefaultsPlace[] {
  const variable = `FSSPEC_${scheme.toUpperCase()}`;
  const text = environment[variable];
  const given = text ? [{ name: `environment ${variable}`, values: parseJson(scheme, variable, text) }] : [];
  return [...given, ...filesOf(scheme, environment)];
}

function filesOf(scheme: string, environment: Environment): DefaultsPlace[] {
  return pathsOf(environment).flatMap((path) => {
    const values = sectionsOf(scheme, path)[scheme] as ClientConfig | undefined;
    return values ? [{ name: `file ${path}`, values }] : [];
  });
}

/**
 * Returns `gather_batch_size`, fsspec's limit of concurrent calls, if a configuration file sets it. It applies to all
 * schemes; `scheme` is only named in errors.
 */
export function fsspecBatchSize(scheme: string, environment: Environment): number | undefined {
  const given = pathsOf(environment).map((path) => sectionsOf(scheme, path)["gather_batch_size"]);
  return given.find((value) => typeof value === "number");
}

/**
 * Returns the paths of fsspec's configuration files, the last name first. If several files set a key, the file with the
 * last name wins.
 */
function pathsOf(environment: Environment): string[] {
  const folder = folderOf(environment);
  const names = folder === undefined ? [] : namesIn(folder).filter((name) => /\.(ini|json)$/.test(name));
  return names
    .sort()
    .reverse()
    .map((name) => join(folder as string, name));
}

function sectionsOf(scheme: string, path: string): ClientConfig {
  const text = readFileSync(path, "utf8");
  return path.endsWith(".ini") ? parseIni(text) : parseJson(scheme, path, text);
}

function folderOf(environment: Environment): string | undefined {
  const home = environment["HOME"];
  return environment["FSSPEC_CONFIG_DIR"] ?? (home ? join(home, ".config/fsspec") : undefined);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function parseJson(scheme: string, place: string, text: string): ClientConfig {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as ClientConfig;
  } catch {
    // The error below leaves the text out: it may hold secrets.
  }
  throw new StorageError("config", `${place}: expected a JSON object`, { scheme });
}
