/** A setting of the server, and a group of them: what one part of the program is given. */

export interface Setting<T> {
  /** The environment variable. */
  readonly env: string;
  /** The flag of `millrace serve`, without its dashes. */
  readonly flag?: string;
  /** The default, written as an operator would write it. */
  readonly fallback: string;
  /** What the documentation says instead of a default that each machine computes for itself. */
  readonly fallbackInWords?: string;
  readonly description: string;
  /** A page and heading of docs/ that says more. */
  readonly see?: string;
  /** Never shown in clear, neither by doctor nor in an error. */
  readonly secret?: true;
  parse(text: string): T;
}

type Settings = Readonly<Record<string, Setting<unknown>>>;

export interface Group<S extends Settings = Settings> {
  /** Heading of the group in docs/configuration.md. */
  readonly title: string;
  readonly settings: S;
}

/** The values of a group, as its part of the program gets them. */
export type Values<G extends Group> = {
  readonly [K in keyof G["settings"]]: ReturnType<G["settings"][K]["parse"]>;
};

/** Keeps the type that each `parse` returns. */
export const setting = <T>(definition: Setting<T>): Setting<T> => definition;

export const group = <S extends Settings>(title: string, settings: S): Group<S> => ({ title, settings });
