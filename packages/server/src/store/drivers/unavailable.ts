/**
 * Errors of a store that cannot be reached. The failed operation can be retried unchanged once the store answers again.
 */

/**
 * Thrown by the store instead of the driver's error, because errors of other sockets and files have the same codes as
 * the driver's. If there is no `cause`, the store was already known to be unreachable.
 */
export class StoreUnavailable extends Error {
  /** What the write changed. `nothing`: it was not committed. `unknown`: the answer to its commit was lost. */
  readonly changed: "nothing" | "unknown";

  constructor(changed: "nothing" | "unknown", cause?: unknown) {
    super(`the database cannot be reached${cause instanceof Error ? `: ${cause.message}` : ""}`, { cause });
    this.name = "StoreUnavailable";
    this.changed = changed;
  }
}

/** Thrown if another session, such as that of an operator, has kept a lock for too long. Nothing was changed. */
export class StoreLocked extends StoreUnavailable {
  constructor(cause: Error) {
    super("nothing", cause);
    this.name = "StoreLocked";
    this.message = `another session of the database keeps a lock: ${cause.message}`;
  }
}

/**
 * Error of a write that was rolled back on every try, because other writes changed the same rows at the same time.
 * Nothing was changed, and the write can be retried unchanged.
 */
export class WriteConflict extends Error {
  constructor(cause: unknown) {
    super(`the write kept conflicting with others: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = "WriteConflict";
  }
}

/** Thrown inside a write to start it again, because rows changed before it could lock them. */
export class WriteAgain extends Error {
  constructor(why: string) {
    super(why);
    this.name = "WriteAgain";
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
 * PostgreSQL error codes: shutdown or crash (57P), timeouts (57P05, 25P03, 57014), a broken connection (08), too many
 * connections (53300), and a standby, as shortly after a failover (25006).
 */
const postgres = /^(08...|57P0[1235]|57014|25P03|53300|25006)$/;

/** PostgreSQL error code of a statement that has waited for a lock for too long. */
const lockTimeout = "55P03";

/** Messages of errors without a code, from the driver and from Node.js sockets. */
const messages =
  /^(Client network socket disconnected before secure TLS|This socket has been ended|Connection terminated|Client has encountered a connection error|Client was closed and is not queryable|timeout expired|timeout exceeded when trying to connect|Cannot use a pool after calling end)/;

/** SQLite error codes: busy, locked, read-only, I/O error, file cannot be opened. */
const sqlite = new Set([5, 6, 8, 10, 14]);

/** Whether the error means that the store cannot be reached for now. */
export const isUnavailable = (error: unknown): error is StoreUnavailable => error instanceof StoreUnavailable;

/**
 * Converts a driver error to StoreUnavailable if it means that the store cannot be reached; returns any other error
 * unchanged.
 */
export function storeError(error: unknown): unknown {
  if (error instanceof Error && (error as { code?: string }).code === lockTimeout) return new StoreLocked(error);
  return isAway(error) ? new StoreUnavailable("nothing", error) : error;
}

/** Whether a driver error means that the store cannot be reached. A full disk does not count: see `isDiskFull`. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof StoreUnavailable) return false;
  // A host name with several addresses fails with one error per address.
  if (error instanceof AggregateError) return error.errors.some(isAway);
  const { code = "", errcode } = error as { code?: string; errcode?: number };
  if (errcode !== undefined) return sqlite.has(errcode & 0xff) && !sqliteFull.has(errcode);
  return network.has(code) || postgres.test(code) || messages.test(error.message);
}

/** SQLite error codes for a full disk: in the database, in the write-ahead log, in the index of that log. */
export const sqliteFull: ReadonlySet<number> = new Set([13, 778, 1546, 4874]);

/** Whether the database rejected the user, the password or the database name, so that retrying cannot help. */
export function isRefused(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return /^(28...|3D000|42501)$/.test(code);
}
