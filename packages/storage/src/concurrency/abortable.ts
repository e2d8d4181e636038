/** Waiting for something that cannot be stopped, but no longer than the signal allows. */

export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  // Whoever loses the race is heard by nobody.
  work.catch(() => {});
  try {
    return await Promise.race([stopped.promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
