/**
 * Whose password is hashed next. Each hash keeps one of the four threads on which files are read, too, so two are made at a
 * time: one for people who are known here, one for strangers, callers in turn. Strangers who come when many wait are refused.
 */
import { ApiError } from "@millrace/contract";
import { Turns } from "../../turns/turns.ts";

export interface Hasher {
  /** Undefined: somebody who is known by a session, a browser or a secret. */
  readonly stranger?: string | undefined;
}

const known = new Turns(1);
const strangers = new Turns(1);
/** Two seconds of work. */
const mostWaiting = 64;
let waiting = 0;

export async function hashInTurn<T>({ stranger }: Hasher, hash: () => Promise<T>): Promise<T> {
  if (stranger === undefined) return known.run(hash);
  if (waiting >= mostWaiting)
    throw new ApiError("too_many_requests", "Very many people are signing in. Try again in a few seconds.", {
      retryAfter: 5,
    });
  waiting++;
  try {
    return await strangers.run(hash, stranger);
  } finally {
    waiting--;
  }
}
