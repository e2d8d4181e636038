/** What a driver does to its store before anybody uses it: migrations, or whatever else the caller brings. */
import type { Kysely } from "kysely";
import type { Tables } from "../schema/tables.ts";

export interface Dialect {
  /** Column type of an id that the store counts up itself. */
  readonly identity: string;
}

/** What is done to a store before anybody uses it, in one transaction that excludes every other writer. */
export type Prepare = (db: Kysely<Tables>, dialect: Dialect) => Promise<unknown>;
