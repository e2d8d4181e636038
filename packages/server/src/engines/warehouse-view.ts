/** What the local engine and whoever looks after the warehouses on this machine tell each other. */
import type { DatasetAccess } from "../datachain/dataset-access.ts";

/** Where a team's warehouse lies on this machine. */
export interface WarehousePlace {
  readonly folder: string;
  /** The group whose members may change it; undefined: the server's own user. */
  readonly group: number | undefined;
  /** The two files in it: what is known of datasets, and their rows. */
  readonly metadata: string;
  readonly rows: string;
  /** Whether a job has used it before: then it must still be there. */
  readonly made: boolean;
}

/** How a job on this machine works with the datasets of its team. */
export interface LocalDatasets extends DatasetAccess, WarehousePlace {}

/** An interpreter, and the folders that it needs to run. */
export interface Python {
  readonly path: string;
  readonly folders: readonly string[];
}

/** What the local engine asks whoever looks after the warehouses. */
export interface WarehousePlaces {
  /** The warehouse of a team, made where there is none. */
  use(teamId: number): WarehousePlace;
  /** A job worked with the warehouse through this interpreter: tidying uses it. */
  remember(teamId: number, python: Python): void;
}

/** What a command of ours sees that looks after a team's warehouse: it has the rights of the warehouse, and no others. */
export interface WarehouseView {
  /** User and group at once; undefined: the server's own. */
  readonly group: number | undefined;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

/** Where a command may run that a team's code can be part of. */
export interface StrangersPlace {
  /** Words in front of the command. */
  readonly words: readonly string[];
  /** Ends whatever stayed there. */
  leave(): Promise<void>;
}
