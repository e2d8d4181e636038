/** One clock for the whole page: components that show relative times are drawn again when it ticks. */
import { useEffect, useState } from "react";

const listeners = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.hidden) return;
  const now = Date.now();
  for (const listener of listeners) listener(now);
}

/** Returns the time in milliseconds. It moves once a second while `runs` is true. */
export function useNow(runs = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!runs) return;
    listeners.add(setNow);
    timer ??= setInterval(tick, 1000);
    return () => {
      listeners.delete(setNow);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [runs]);
  return now;
}
