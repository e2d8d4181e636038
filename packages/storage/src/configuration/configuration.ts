/** Checks a client_config against its table, and records the source of every value. */
import { StorageError } from "../errors.ts";
import { explainParameters } from "./explanation.ts";
import { type DefaultsPlace, fsspecDefaults, type NamedDefaults } from "./fsspec-defaults.ts";
import { membersOf } from "./members.ts";
import {
  type ClientConfig,
  type Environment,
  type ExplainedParameter,
  type FoundValue,
  type Parameter,
  type ParameterTable,
  type ParameterType,
  parameterKeys,
  sourcesOf,
  typesOf,
  type Values,
} from "./parameters.ts";
import { suggest } from "./suggestion.ts";

export interface Configuration<Table extends ParameterTable = ParameterTable> {
  readonly values: Values<Table>;
  /** The environment in which values were searched. Code that needs further variables reads them here, too. */
  readonly environment: Environment;
  /** Whether the parameter has a value from any source, and not only its default. */
  isGiven(key: keyof Table & string): boolean;
  /**
   * Returns the source of the value, such as `client_config.key` or `environment NAME`. Returns `default` if no source
   * gives a value.
   */
  sourceOf(key: keyof Table & string): string;
  explain(): ExplainedParameter[];
}

/** The input for resolving one scheme: its table, the caller's client_config, and the environment. */
interface Question {
  readonly scheme: string;
  readonly table: ParameterTable;
  readonly config: ClientConfig;
  readonly environment: Environment;
  readonly defaults: readonly NamedDefaults[];
}

export function resolveConfiguration<Table extends ParameterTable>(
  names: readonly string[],
  described: Table,
  config: ClientConfig,
  environment: Environment,
): Configuration<Table> {
  const table = withAnyKey(described, config) as Table;
  const defaults = fsspecDefaults(names, environment);
  const question = { scheme: names[0] as string, table, config, environment, defaults };
  refuseUnknown(question);
  const found = new Map<string, FoundValue>();
  for (const key of Object.keys(table)) {
    const value = find(question, key);
    if (value) found.set(key, value);
  }
  const values = Object.fromEntries(
    Object.entries(table).map(([key, parameter]) => [key, found.get(key)?.value ?? parameter.default]),
  ) as Values<Table>;
  return {
    values,
    environment,
    isGiven: (key) => found.has(key),
    sourceOf: (key) => found.get(key)?.source ?? "default",
    explain: () => explainParameters(table, found),
  };
}

/**
 * If the table has a row `*`, returns the table with that row for every key of client_config that has no row of its
 * own. Otherwise returns the table unchanged.
 */
function withAnyKey(table: ParameterTable, config: ClientConfig): ParameterTable {
  const { "*": any, ...named } = table;
  if (!any) return table;
  return { ...Object.fromEntries(Object.keys(config).map((key) => [key, any])), ...named };
}

const refuse = (scheme: string, message: string) => new StorageError("config", message, { scheme });

function refuseUnknown({ scheme, table, config }: Question): void {
  const known = knownKeys(table);
  for (const [key, value] of Object.entries(config)) {
    if (!known.includes(key)) {
      throw refuse(scheme, `${key} is not a parameter of ${scheme}://${suggest(key, known)}`);
    }
    refuseUnknownMembers(scheme, table, key, value);
  }
}

function refuseUnknownMembers(scheme: string, table: ParameterTable, key: string, value: unknown): void {
  const members = membersOf(table, key);
  if (members.length === 0 || typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (!members.includes(name)) {
      throw refuse(scheme, `${key}.${name} is not a parameter of ${scheme}://${suggest(name, members)}`);
    }
    refuseUnknownMembers(scheme, table, `${key}.${name}`, member);
  }
}

/** All keys and aliases of the table. */
function knownKeys(table: ParameterTable): string[] {
  const aliases = Object.values(table).flatMap((parameter) => parameter.sources ?? []);
  return [...new Set([...parameterKeys(table), ...aliases.filter((name) => !/[.$]/.test(name))])];
}

function find(question: Question, key: string): FoundValue | undefined {
  const parameter = question.table[key] as Parameter;
  const sources = sourcesOf(key, parameter);
  for (const source of sources.filter((name) => !name.startsWith("$"))) {
    const given =
      lookUp(question.config, source) ?? (isNull(question.config, source) ? parameter.nullMeans : undefined);
    if (given === undefined) continue;
    return { value: check(question, source, parameter, given), source: `client_config.${source}` };
  }
  if (parameter.group !== undefined && isGroupGiven(question, parameter.group)) return undefined;
  return findInEnvironment(question, key, parameter);
}

const isNull = (config: ClientConfig, source: string) => lookUp(config, source) === null;

/** Whether client_config itself gives one of the group's parameters. */
function isGroupGiven({ table, config }: Question, group: string): boolean {
  return Object.entries(table).some(
    ([key, parameter]) =>
      parameter.group === group &&
      sourcesOf(key, parameter).some((source) => !source.startsWith("$") && lookUp(config, source) != null),
  );
}

function lookUp(config: ClientConfig, source: string): unknown {
  return source.split(".").reduce<unknown>((value, name) => (value as ClientConfig | undefined | null)?.[name], config);
}

function findInEnvironment(question: Question, key: string, parameter: Parameter): FoundValue | undefined {
  const named = sourcesOf(key, parameter).filter((source) => source.startsWith("$"));
  return (
    firstOf(named, (source) => findInVariable(question, source.slice(1), parameter)) ??
    firstOf(question.defaults, (defaults) => findInDefaults(question, defaults, key, parameter)) ??
    parameter.elsewhere?.(question.environment)
  );
}

function firstOf<T>(places: readonly T[], look: (place: T) => FoundValue | undefined): FoundValue | undefined {
  for (const place of places) {
    const found = look(place);
    if (found) return found;
  }
  return undefined;
}

function findInVariable(question: Question, name: string, parameter: Parameter): FoundValue | undefined {
  const text = question.environment[name];
  if (text === undefined || (text === "" && !parameter.falseTexts)) return undefined;
  const value = check(question, name, parameter, fromText(question, name, parameter, text));
  return { value, source: `environment ${name}` };
}

/**
 * Looks for a value in fsspec's defaults: first in the variable for the parameter (`FSSPEC_S3_KEY`), then in the
 * variable for the scheme (`FSSPEC_S3`), then in fsspec's configuration files.
 */
function findInDefaults(question: Question, { name, places }: NamedDefaults, key: string, parameter: Parameter) {
  const sources = sourcesOf(key, parameter).filter((source) => !source.startsWith("$"));
  return (
    firstOf(sources, (source) => findInDefaultVariable(question, name, source, parameter)) ??
    firstOf(places, (place) => firstOf(sources, (source) => findInPlace(question, place, source, parameter)))
  );
}

/**
 * Looks for a value in the variable of a parameter, such as `FSSPEC_S3_KEY`. A member of a dict is looked up in the
 * variable of the dict.
 */
function findInDefaultVariable(question: Question, name: string, source: string, parameter: Parameter) {
  const [root = "", ...members] = source.split(".");
  const variable = `FSSPEC_${name}_${root}`.toUpperCase();
  if (members.length === 0) return findInVariable(question, variable, parameter);
  const text = question.environment[variable];
  if (!text) return undefined;
  const values = { [root]: parseJson(question, variable, text) };
  return findInPlace(question, { name: `environment ${variable}`, values }, source, parameter);
}

/**
 * Looks for a value in one variable or file with defaults. If the value is text and the parameter has another type,
 * parses the text.
 */
function findInPlace(question: Question, { name, values }: DefaultsPlace, source: string, parameter: Parameter) {
  const given = lookUp(values, source);
  if (given === undefined || given === null) return undefined;
  const place = `${name}: ${source}`;
  const value = typeof given === "string" ? fromText(question, place, parameter, given) : given;
  return { value: check(question, place, parameter, value), source: name };
}

function parseJson({ scheme }: Question, name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse(scheme, `${name}: expected JSON, but the text is not valid JSON`);
  }
}

const falseWords = ["false", "0", "f", "no", ""];

function fromText(question: Question, name: string, parameter: Parameter, text: string): unknown {
  const types = typesOf(parameter);
  const { falseTexts = falseWords } = parameter;
  if (types.includes("boolean") && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  if (types.includes("string")) return text;
  if (types.includes("boolean")) return !falseTexts.includes(text.toLowerCase());
  if (types.includes("dict") || types.includes("list")) return parseJson(question, name, text);
  return Number(text);
}

function check({ scheme }: Question, name: string, parameter: Parameter, value: unknown): unknown {
  if (parameter.effect === "rejected") throw refuse(scheme, `${name} is not supported: ${parameter.reason}`);
  const types = typesOf(parameter);
  if (!types.some((type) => hasType(type, value))) {
    throw refuse(scheme, `${name}: expected ${types.join(" or ")}, got ${describe(value)}`);
  }
  if (parameter.choices && typeof value === "string" && !parameter.choices.includes(value)) {
    const hint = suggest(value, parameter.choices);
    throw refuse(
      scheme,
      `${name}: expected one of ${parameter.choices.join(", ")}, got ${JSON.stringify(value)}${hint}`,
    );
  }
  if (parameter.minimum !== undefined && typeof value === "number" && value < parameter.minimum) {
    throw refuse(scheme, `${name}: expected ${parameter.minimum} or more, got ${value}`);
  }
  return value;
}

function hasType(type: ParameterType, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "number") return typeof value === "number" && !Number.isNaN(value);
  if (type === "list") return Array.isArray(value);
  if (type === "dict") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** Describes only the type of a value, because the value may be a secret that was given for the wrong parameter. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return `a value of type ${typeof value}`;
}
