/** Bodies that are being read, or whose requests are not answered yet, lie in memory: their sum has a bound. */
import { ApiError } from "@millrace/contract";

const mebibyte = 1024 * 1024;

export const bodyBudgets = {
  /** Of one caller. */
  own: 64 * mebibyte,
  /** Of all. */
  total: 256 * mebibyte,
  /** Bodies of at most so many bytes have a budget of their caller's for themselves: they find room beside large ones. */
  small: 64 * 1024,
} as const;

export class BodiesUnderWay {
  readonly #callers = new Map<string, number>();
  #large = 0;

  /** Counts a body of this many bytes until the returned function is called. Throws where there is no room for it. */
  begin(caller: string, bytes: number): () => void {
    const large = bytes > bodyBudgets.small ? bytes : 0;
    const key = large > 0 ? caller : `${caller}, small`;
    const own = (this.#callers.get(key) ?? 0) + bytes;
    // The first of a caller is let in whatever its size: it has a limit of its own.
    if (own > Math.max(bodyBudgets.own, bytes)) throw noRoom("you are sending");
    if (large > 0 && this.#large + large > Math.max(bodyBudgets.total, large)) throw noRoom("callers are sending");
    this.#callers.set(key, own);
    this.#large += large;
    return () => {
      this.#large -= large;
      const left = (this.#callers.get(key) ?? 0) - bytes;
      if (left > 0) this.#callers.set(key, left);
      else this.#callers.delete(key);
    };
  }
}

const noRoom = (who: string) =>
  new ApiError("too_many_requests", `The request bodies that ${who} at once are too large together. Try again.`, {
    retryAfter: 2,
  });
