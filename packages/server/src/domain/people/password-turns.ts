/**
 * Queues for password hashing. Each hash occupies one of Node's four pool threads, which also read files. So at most
 * two hashes run at a time: one for known users, and one for strangers, whose callers take turns. Strangers are
 * rejected when their queue is full.
 */
import { ApiError } from "@millrace/contract";
import { Turns } from "../../turns/turns.ts";

/** Whose password is hashed, which selects the queue. */
export interface Hasher {
  /**
   * Key of the caller's place in the strangers' queue; undefined for a caller known by a session, browser or secret.
   */
  readonly stranger?: string | undefined;
}

const known = new Turns(1);
const strangers = new Turns(1);
/** Maximum number of strangers that may wait. Hashing the passwords of all of them takes about two seconds. */
const mostWaiting = 64;
let waiting = 0;

/** Runs a password hash when it is the caller's turn. */
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
