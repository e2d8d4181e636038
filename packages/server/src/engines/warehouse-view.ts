/** The interface between the local engine and the code that manages the teams' warehouses on this machine. */
import type { DatasetAccess } from "../datachain/dataset-access.ts";

/** The location of a team's warehouse on this machine. */
export interface WarehousePlace {
  readonly folder: string;
  /** Id of the group that may write to the warehouse; undefined if only the server's user may write to it. */
  readonly group: number | undefined;
  /** Path of the metadata database. */
  readonly metadata: string;
  /** Path of the rows database. */
  readonly rows: string;
  /** Whether a job has used the warehouse before. If true and the warehouse's files are missing, jobs fail. */
  readonly made: boolean;
}

/** A job's access to its team's datasets on this machine. */
export interface LocalDatasets extends DatasetAccess, WarehousePlace {}

/** A Python interpreter and the folders that it needs to run. */
export interface Python {
  readonly path: string;
  readonly folders: readonly string[];
}

/** What the local engine needs to know about warehouses. */
export interface WarehousePlaces {
  /** Returns the location of a team's warehouse. Creates the folder if it does not exist. */
  use(teamId: number): WarehousePlace;
  /**
   * Records that a job used the warehouse with this interpreter, so that garbage collection uses the same interpreter.
   */
  remember(teamId: number, python: Python): void;
}

/** The paths that a maintenance command for a team's warehouse can access. It can access no other team's warehouse. */
export interface WarehouseView {
  /**
   * Id that is both the user id and the group id of the command; undefined if the command runs as the server's user.
   */
  readonly group: number | undefined;
  /** Ids of further groups of the command; absent if there are none. */
  readonly groups?: readonly number[];
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

/** A sandbox for a command that may run code of a team. */
export interface StrangersPlace {
  /** Command and arguments that precede the sandboxed command. */
  readonly words: readonly string[];
  /** Kills processes that are still in the sandbox. */
  leave(): Promise<void>;
}
