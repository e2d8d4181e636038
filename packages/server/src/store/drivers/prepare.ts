/** The step that a driver runs on a store before first use: migrations, or whatever the caller passes. */
import type { Kysely } from "kysely";
import type { Tables } from "../schema/tables.ts";

export interface Dialect {
  /** Column type of an auto-increment id. */
  readonly identity: string;
}

/** Prepares a store before first use, in one transaction that excludes every other writer. */
export type Prepare = (db: Kysely<Tables>, dialect: Dialect) => Promise<unknown>;
