/**
 * Waits for work that cannot be stopped. If the signal aborts first, rejects with the signal's reason; the work goes
 * on.
 */

export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  // If the signal aborts first, nothing else handles a later failure of the work.
  work.catch(() => {});
  try {
    return await Promise.race([stopped.promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
