import type { Db } from "../../store/drivers/store.ts";
import type { Actor } from "./audit.ts";

/** An open transaction of the store, and the time that its writes record. */
export interface Transaction {
  readonly db: Db;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A transaction in which somebody changes something: the actor is written to the audit log. */
export interface Edit extends Transaction {
  readonly actor: Actor;
}
