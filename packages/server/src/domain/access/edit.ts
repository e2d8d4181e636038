import type { Db } from "../../store/drivers/store.ts";
import type { Actor } from "./audit.ts";

/** An open transaction of the store, and the time that its writes record. */
export interface Transaction {
  readonly db: Db;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A transaction that changes something, and the actor whom the audit log records. */
export interface Edit extends Transaction {
  readonly actor: Actor;
}
