/** Types of a single setting and of a group of settings. Each part of the server gets the values of one group. */

export interface Setting<T> {
  /** Name of the environment variable. */
  readonly env: string;
  /** Flag of `millrace serve`, without dashes; undefined if the setting has no flag. */
  readonly flag?: string;
  /** Default value, as an operator would write it in the environment variable. */
  readonly fallback: string;
  /** Text that the documentation shows instead of a default that depends on the machine. */
  readonly fallbackInWords?: string;
  readonly description: string;
  /** Page and heading in docs/ with more details. */
  readonly see?: string;
  /** True if the value must never be shown in plain text, neither by doctor nor in an error. */
  readonly secret?: true;
  parse(text: string): T;
}

type Settings = Readonly<Record<string, Setting<unknown>>>;

export interface Group<S extends Settings = Settings> {
  /** Heading of the group in docs/configuration.md. */
  readonly title: string;
  readonly settings: S;
}

/** The parsed values of a group. */
export type Values<G extends Group> = {
  readonly [K in keyof G["settings"]]: ReturnType<G["settings"][K]["parse"]>;
};

/** Returns the definition unchanged. TypeScript infers the type `T` from the definition's `parse`. */
export const setting = <T>(definition: Setting<T>): Setting<T> => definition;

export const group = <S extends Settings>(title: string, settings: S): Group<S> => ({ title, settings });
