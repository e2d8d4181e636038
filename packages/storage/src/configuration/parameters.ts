/**
 * Parameters of client_config as data. Each scheme has one table, from which validation, resolution, `explainConfig()`
 * and the documentation are derived, so they cannot disagree.
 */

interface Types {
  boolean: boolean;
  integer: number;
  number: number;
  string: string;
  dict: Readonly<Record<string, unknown>>;
  list: readonly unknown[];
  object: object;
  function: (...values: never[]) => unknown;
}

export type ParameterType = keyof Types;

export interface FoundValue {
  readonly value: unknown;
  /** The source of the value, as `explainConfig()` shows it. */
  readonly source: string;
}

interface Described {
  readonly type: ParameterType | readonly ParameterType[];
  /** The default value; null means that the parameter is unset. */
  readonly default: boolean | number | string | null | Readonly<Record<string, never>>;
  readonly help: string;
  /**
   * Sources of the value, in order of precedence; by default, only the key. A plain word is a key of client_config,
   * `a.b` the member b of the dict a, `$NAME` an environment variable.
   */
  readonly sources?: readonly string[];
  /**
   * Name of a group of parameters that belong together. If client_config gives one of them, the environment is ignored
   * for the whole group.
   */
  readonly group?: string;
  /** Looks up the value in a further source, such as a file. Used only if no other source has a value. */
  readonly elsewhere?: (environment: Environment) => FoundValue | undefined;
  readonly choices?: readonly string[];
  readonly minimum?: number;
  /**
   * For a boolean: the only texts that mean false in an environment variable, in upper or lower case. Every other text
   * means true, even an empty text.
   */
  readonly falseTexts?: readonly string[];
  /** What null in client_config means, if this differs from an absent value. */
  readonly nullMeans?: string;
  readonly secret?: true;
  /** For a dict with free members: the members that are secret. */
  readonly secretMembers?: readonly string[];
}

type Effect =
  | { readonly effect: "native" | "emulated"; readonly reason?: string }
  | { readonly effect: "no-op" | "rejected"; readonly reason: string };

/** `effect`: native (the store does it), emulated (this library does it), no-op (ignored) or rejected. */
export type Parameter = Described & Effect;

/**
 * Parameters by key. The key `a.b` describes the member b of the dict a. If members of a dict are described, the dict
 * accepts no other members.
 */
export type ParameterTable = Readonly<Record<string, Parameter>>;

type Unset<P extends Parameter> = P["default"] extends null ? null : never;
type ValueOf<P extends Parameter> = P["type"] extends readonly ParameterType[]
  ? Types[P["type"][number]] | Unset<P>
  : P["type"] extends ParameterType
    ? Types[P["type"]] | Unset<P>
    : never;

export type Values<Table extends ParameterTable> = { readonly [K in keyof Table]: ValueOf<Table[K]> };

/** Parameters of any kind of storage; they are checked when the storage is opened. */
export type ClientConfig = Readonly<Record<string, unknown>>;

/** The type of a value in client_config. Null and undefined mean that the value is not given. */
type Given<P extends Parameter> =
  | Types[P["type"] extends readonly ParameterType[] ? P["type"][number] : P["type"] & ParameterType]
  | null
  | undefined;

/**
 * All keys of client_config that can set a parameter: its own name and its aliases. Environment variables among its
 * sources are left out.
 */
type Places<Table extends ParameterTable, K extends keyof Table> =
  | (K & string)
  | (Table[K] extends { readonly sources: readonly (infer S)[] } ? Exclude<S & string, `$${string}`> : never);

/** The name of the dict that has a member: `a` for `a.b`. */
type DictOf<Place extends string> = Place extends `${infer Dict}.${string}` ? Dict : never;
type PlainOf<Place extends string> = Exclude<Place, `${string}.${string}`>;

/** The type of client_config for a table. It accepts every alias of a parameter. */
export type ConfigOf<Table extends ParameterTable> = [keyof Table] extends [never] ? Nothing : Named<Table>;

/** The client_config type of a table without parameters. The type `{}` would accept any key. */
type Nothing = Readonly<Record<string, never>>;

type Named<Table extends ParameterTable> = {
  readonly [K in keyof Table as PlainOf<Places<Table, K>>]?: Given<Table[K]>;
} & {
  readonly [K in keyof Table as Exclude<DictOf<Places<Table, K>>, keyof Table>]?: Types["dict"] | null | undefined;
};
export type Environment = Readonly<Record<string, string | undefined>>;

export interface ExplainedParameter {
  readonly key: string;
  /** The value, masked if it is secret. */
  readonly value: unknown;
  /**
   * The source of the value, such as `client_config.key` or `environment NAME`; `default` if no source gives a value.
   */
  readonly source: string;
  readonly effect: Parameter["effect"];
  readonly reason: string | undefined;
  readonly help: string;
}

/** The top-level keys, without members of dicts. */
export const parameterKeys = (table: ParameterTable) => Object.keys(table).filter((key) => !key.includes("."));

export const typesOf = (parameter: Parameter): readonly ParameterType[] =>
  typeof parameter.type === "string" ? [parameter.type] : parameter.type;

/** Returns the names of the sources of a value, in order of precedence. */
export const sourcesOf = (key: string, parameter: Parameter): readonly string[] => parameter.sources ?? [key];
