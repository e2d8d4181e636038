/** A store that does not answer for now. What failed for that may be tried again, unchanged, when it does. */

/** Thrown in place of what the driver said. `changed` tells what became of a write. */
export class StoreUnavailable extends Error {
  /** nothing: it never began. unknown: the answer to its commit was lost. */
  readonly changed: "nothing" | "unknown";

  constructor(changed: "nothing" | "unknown", cause?: unknown) {
    super(`the database cannot be reached${cause instanceof Error ? `: ${cause.message}` : ""}`, { cause });
    this.name = "StoreUnavailable";
    this.changed = changed;
  }
}

const network = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/**
 * PostgreSQL's codes: the session was ended by a shutdown (57P), a crash or a time limit (57P05, 25P03, 57014), the
 * connection broke (08), there are too many of them (53300), or this is a standby, as for a while after a failover (25006).
 */
const postgres = /^(08...|57P0[1235]|57014|25P03|53300|25006)$/;

/** What the driver says without a code; and a socket of TLS, or one that has been ended, without a system call. */
const messages =
  /^(Client network socket disconnected before secure TLS|This socket has been ended by the other party|Connection terminated|Client has encountered a connection error|Client was closed and is not queryable|timeout expired|timeout exceeded when trying to connect|Cannot use a pool after calling end|driver has already been destroyed)/;

/** SQLite's: busy, locked, read-only, an error of the disk, a file that cannot be opened. */
const sqlite = new Set([5, 6, 8, 10, 14]);

/** Whether a failure means that the store cannot be reached for now. That its disk is full is another matter: `isDiskFull`. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return true;
  if (!(error instanceof Error)) return false;
  // A name with several addresses: each has an error of its own.
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  const { code = "", errcode, syscall = "" } = error as { code?: string; errcode?: number; syscall?: string };
  if (errcode !== undefined) return sqlite.has(errcode & 0xff) && !sqliteFull.has(errcode);
  // A request whose caller broke off has ECONNRESET, too, but no system call.
  if (network.has(code) && /^(connect|read|write|getaddrinfo)/.test(syscall)) return true;
  return postgres.test(code) || messages.test(error.message);
}

/** SQLite's names for a write that found no room: in the database, in its log, in the index of that log. */
export const sqliteFull: ReadonlySet<number> = new Set([13, 778, 1546, 4874]);

/** Whether the database answered that this user, password or database will not do: waiting would not help. */
export function isRefused(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return /^(28...|3D000|42501)$/.test(code);
}
