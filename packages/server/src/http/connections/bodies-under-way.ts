/** Limits the memory that request bodies take, from their arrival until their requests are answered. */
import { ApiError } from "@millrace/contract";

const mebibyte = 1024 * 1024;

export const bodyBudgets = {
  /** Maximum total size of one caller's bodies, in bytes. */
  own: 64 * mebibyte,
  /** Maximum total size of the large bodies of all callers, in bytes. */
  total: 256 * mebibyte,
  /**
   * Size in bytes up to which a body counts as small. Small bodies are counted separately, so that large bodies cannot
   * keep small ones out.
   */
  small: 64 * 1024,
} as const;

export class BodiesUnderWay {
  readonly #callers = new Map<string, number>();
  #large = 0;

  /** Counts a body of this many bytes until the returned function is called. Throws if a limit would be exceeded. */
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
