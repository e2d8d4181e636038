/** A store that does not answer for now. What failed for that may be tried again, unchanged, when it does. */

/**
 * Thrown in place of what the driver said: outside of the store nobody looks at errors of drivers, since other sockets and
 * files have the same. `changed` tells what became of a write; without a cause, the store was known to be away.
 */
export class StoreUnavailable extends Error {
  /** nothing: it was not committed. unknown: the answer to its commit was lost. */
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

/** What the driver says without a code, and Node.js of a socket. */
const messages =
  /^(Client network socket disconnected before secure TLS|This socket has been ended|Connection terminated|Client has encountered a connection error|Client was closed and is not queryable|timeout expired|timeout exceeded when trying to connect|Cannot use a pool after calling end)/;

/** SQLite's: busy, locked, read-only, an error of the disk, a file that cannot be opened. */
const sqlite = new Set([5, 6, 8, 10, 14]);

/** Whether the store cannot be reached for now. */
export const isUnavailable = (error: unknown): error is StoreUnavailable => error instanceof StoreUnavailable;

/** What is thrown in place of an error of a driver: that the store is away, where it means that, or the error itself. */
export const storeError = (error: unknown): unknown => (isAway(error) ? new StoreUnavailable("nothing", error) : error);

/** That the disk of the store is full is another matter: `isDiskFull`. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof StoreUnavailable) return false;
  // A name with several addresses: each has an error of its own.
  if (error instanceof AggregateError) return error.errors.some(isAway);
  const { code = "", errcode } = error as { code?: string; errcode?: number };
  if (errcode !== undefined) return sqlite.has(errcode & 0xff) && !sqliteFull.has(errcode);
  return network.has(code) || postgres.test(code) || messages.test(error.message);
}

/** SQLite's names for a write that found no room: in the database, in its log, in the index of that log. */
export const sqliteFull: ReadonlySet<number> = new Set([13, 778, 1546, 4874]);

/** Whether the database answered that this user, password or database will not do: waiting would not help. */
export function isRefused(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return /^(28...|3D000|42501)$/.test(code);
}
