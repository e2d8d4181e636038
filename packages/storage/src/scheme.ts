/** A kind of storage: its names, what it takes and can do, and how its backend is loaded. */
import type { Location } from "./address/uri.ts";
import type { Backend } from "./backend.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Configuration } from "./configuration/configuration.ts";
import type { ParameterTable } from "./configuration/parameters.ts";

export interface OpenRequest<Table extends ParameterTable> {
  readonly location: Location;
  readonly configuration: Configuration<Table>;
}

export interface SchemeModule<Table extends ParameterTable> {
  open(request: OpenRequest<Table>): Backend | Promise<Backend>;
}

export interface Scheme<Table extends ParameterTable = ParameterTable> {
  /** The first is the usual one. */
  readonly names: readonly string[];
  readonly parameters: Table;
  readonly capabilities: Capabilities;
  parse(uri: string): Location;
  /** Rules between parameters, checked when a storage is opened. */
  check?(configuration: Configuration<Table>, location: Location): void;
  /** Loads the part that speaks to the store, when it is first used: the parts of other schemes are never loaded. */
  load(): Promise<SchemeModule<Table>>;
}

/** Keeps the types of a table together with the functions that use it, where they are written. */
export const defineScheme = <Table extends ParameterTable>(scheme: Scheme<Table>): Scheme<Table> => scheme;
