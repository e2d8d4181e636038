/** Bounds the total memory of request bodies that are being read or whose requests are not answered yet. */
import { ApiError } from "@millrace/contract";

const mebibyte = 1024 * 1024;

export const bodyBudgets = {
  /** Maximum bytes for one caller. */
  own: 64 * mebibyte,
  /** Maximum bytes for all callers. */
  total: 256 * mebibyte,
  /** Bodies up to this many bytes have a separate budget per caller, so that large bodies do not block them. */
  small: 64 * 1024,
} as const;

export class BodiesUnderWay {
  readonly #callers = new Map<string, number>();
  #large = 0;

  /** Counts a body of this many bytes until the returned function is called. Throws if the budget is exceeded. */
  begin(caller: string, bytes: number): () => void {
    const large = bytes > bodyBudgets.small ? bytes : 0;
    const key = large > 0 ? caller : `${caller}, small`;
    const own = (this.#callers.get(key) ?? 0) + bytes;
    // The first body of a caller is always accepted: a separate limit bounds its size.
    if (own > Math.max(bodyBudgets.own, bytes)) throw noRoom("you are sending now");
    if (large > 0 && this.#large + large > Math.max(bodyBudgets.total, large))
      throw noRoom("all callers are sending now");
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
  new ApiError(
    "too_many_requests",
    `The request bodies that ${who} are too large in total. Wait for other requests to finish, then try again.`,
    {
      retryAfter: 2,
    },
  );
