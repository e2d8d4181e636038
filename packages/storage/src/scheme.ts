/** A kind of storage: its names, parameters and capabilities, and how its backend is loaded. */
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
  /** All names, the usual one first. */
  readonly names: readonly string[];
  readonly parameters: Table;
  readonly capabilities: Capabilities;
  parse(uri: string): Location;
  /** Checks rules that concern several parameters, when a storage is opened. */
  check?(configuration: Configuration<Table>, location: Location): void;
  /** Loads the backend at the first use, so that the code of other schemes is never loaded. */
  load(): Promise<SchemeModule<Table>>;
}

/** Returns the scheme unchanged. Lets TypeScript check that `check` and `load` fit the scheme's parameter table. */
export const defineScheme = <Table extends ParameterTable>(scheme: Scheme<Table>): Scheme<Table> => scheme;
