/**
 * Queues for password hashing. Each hash occupies one of Node's four pool threads, which also read files. So at most
 * two hashes run at a time: one for known users and one for strangers. Strangers take turns by caller, and are rejected
 * when their queue is full.
 */
import { ApiError } from "@millrace/contract";
import { Turns } from "../../turns/turns.ts";

/** The caller whose password is hashed. Known callers and strangers wait in different queues. */
export interface Hasher {
  /**
   * For a stranger: key of the caller, so that callers take turns in the strangers' queue. Undefined for a caller who
   * is known by a session, a browser cookie or a secret.
   */
  readonly stranger?: string | undefined;
}

const known = new Turns(1);
const strangers = new Turns(1);
/** Maximum number of strangers that may wait. Hashing the passwords of all of them takes about two seconds. */
const mostWaiting = 64;
let waiting = 0;

/**
 * Runs a password hash when it is the caller's turn. Throws if the caller is a stranger and the strangers' queue is
 * full.
 */
export async function hashInTurn<T>({ stranger }: Hasher, hash: () => Promise<T>): Promise<T> {
  if (stranger === undefined) return known.run(hash);
  if (waiting >= mostWaiting)
    throw new ApiError("too_many_requests", "Too many sign-ins are waiting. Try again in a few seconds.", {
      retryAfter: 5,
    });
  waiting++;
  try {
    return await strangers.run(hash, stranger);
  } finally {
    waiting--;
  }
}
