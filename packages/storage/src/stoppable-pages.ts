/**
 * Requests for pages that can be stopped together, each by a signal of its own. On one that they share every listener
 * would keep those that came after it, with the bytes of their pages, until the garbage of old objects is collected:
 * with many requests at once that was half of the memory of a listing.
 */
import type { FetchPage } from "./listing.ts";

export interface StoppablePages {
  readonly fetch: FetchPage;
  /** Ends the requests that run; later ones fail at once. */
  stop(): void;
}

export function stoppablePages(fetch: FetchPage, signal: AbortSignal | undefined): StoppablePages {
  const running = new Set<AbortController>();
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    signal?.removeEventListener("abort", stop);
    for (const request of running) request.abort(signal?.reason);
  };
  signal?.addEventListener("abort", stop);
  return {
    stop,
    async fetch(call) {
      const request = new AbortController();
      if (isStopped) request.abort(signal?.reason);
      running.add(request);
      try {
        return await fetch({ ...call, signal: request.signal });
      } finally {
        running.delete(request);
      }
    },
  };
}
