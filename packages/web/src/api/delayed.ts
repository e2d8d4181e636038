/** A value that changes only when its changes pause, so that typing does not call the server for every key. */
import { useEffect, useState } from "react";

export function useDelayed<T>(value: T, milliseconds = 250): T {
  const [delayed, setDelayed] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return delayed;
}
