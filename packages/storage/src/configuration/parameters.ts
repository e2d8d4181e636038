/**
 * Parameters of client_config as data. Each scheme has one table; validation, resolution, `explainConfig()` and the
 * documentation are derived from it, so they cannot disagree.
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
  /** Where it came from, as `explainConfig()` tells it. */
  readonly source: string;
}

interface Described {
  readonly type: ParameterType | readonly ParameterType[];
  /** Null means unset. */
  readonly default: boolean | number | string | null | Readonly<Record<string, never>>;
  readonly help: string;
  /**
   * Where a value is taken from, the strongest first; the key alone when absent. A plain word is a key of client_config,
   * `a.b` the member b of the dict a, `$NAME` a variable of the environment.
   */
  readonly sources?: readonly string[];
  /** Parameters of one group come together: given one in client_config, the environment is asked for none of them. */
  readonly group?: string;
  /** Asked when the sources have nothing: a file, say. */
  readonly elsewhere?: (environment: Environment) => FoundValue | undefined;
  readonly choices?: readonly string[];
  readonly minimum?: number;
  /** Of a boolean: the only texts that a variable may hold for false, in any case; all others, the empty one too, are true. */
  readonly falseTexts?: readonly string[];
  /** What a null that is given stands for, where it is not the same as giving nothing. */
  readonly nullMeans?: string;
  readonly secret?: true;
  /** Of a dict that takes any members: those that are secret. */
  readonly secretMembers?: readonly string[];
}

type Effect =
  | { readonly effect: "native" | "emulated"; readonly reason?: string }
  | { readonly effect: "no-op" | "rejected"; readonly reason: string };

/** `effect`: the store has it, we do it ourselves, it means nothing here, or it is refused. */
export type Parameter = Described & Effect;

/** By key. `a.b` describes the member b of the dict a; a dict with described members takes no others. */
export type ParameterTable = Readonly<Record<string, Parameter>>;

type Unset<P extends Parameter> = P["default"] extends null ? null : never;
type ValueOf<P extends Parameter> = P["type"] extends readonly ParameterType[]
  ? Types[P["type"][number]] | Unset<P>
  : P["type"] extends ParameterType
    ? Types[P["type"]] | Unset<P>
    : never;

export type Values<Table extends ParameterTable> = { readonly [K in keyof Table]: ValueOf<Table[K]> };

/** Parameters of whatever kind of storage: they are checked when a storage is opened. */
export type ClientConfig = Readonly<Record<string, unknown>>;

/** Null and undefined stand for nothing given. */
type Given<P extends Parameter> =
  | Types[P["type"] extends readonly ParameterType[] ? P["type"][number] : P["type"] & ParameterType]
  | null
  | undefined;

/** Keys and places of a parameter in client_config; variables of the environment are none. */
type Places<Table extends ParameterTable, K extends keyof Table> =
  | (K & string)
  | (Table[K] extends { readonly sources: readonly (infer S)[] } ? Exclude<S & string, `$${string}`> : never);

/** `a.b` is given as a member of the dict a. */
type DictOf<Place extends string> = Place extends `${infer Dict}.${string}` ? Dict : never;
type PlainOf<Place extends string> = Exclude<Place, `${string}.${string}`>;

/** What a storage with this table takes, by every name that a parameter has. */
export type ConfigOf<Table extends ParameterTable> = [keyof Table] extends [never] ? Nothing : Named<Table>;

/** An empty object type would take any key. */
type Nothing = Readonly<Record<string, never>>;

type Named<Table extends ParameterTable> = {
  readonly [K in keyof Table as PlainOf<Places<Table, K>>]?: Given<Table[K]>;
} & {
  readonly [K in keyof Table as Exclude<DictOf<Places<Table, K>>, keyof Table>]?: Types["dict"] | null | undefined;
};
export type Environment = Readonly<Record<string, string | undefined>>;

export interface ExplainedParameter {
  readonly key: string;
  /** Masked where it is secret. */
  readonly value: unknown;
  /** `default`, or where it came from: `client_config.key`, `environment NAME`. */
  readonly source: string;
  readonly effect: Parameter["effect"];
  readonly reason: string | undefined;
  readonly help: string;
}

/** The keys that callers know, without the members of dicts. */
export const parameterKeys = (table: ParameterTable) => Object.keys(table).filter((key) => !key.includes("."));

export const typesOf = (parameter: Parameter): readonly ParameterType[] =>
  typeof parameter.type === "string" ? [parameter.type] : parameter.type;

/** Where a value is looked for, the strongest first. */
export const sourcesOf = (key: string, parameter: Parameter): readonly string[] => parameter.sources ?? [key];
