/** Keeps a team's pages live, and says so while the connection is down. */
import { useEffect, useState } from "react";
import { useLive } from "../api/live.ts";

/** A connection that is back within this many milliseconds is not worth a word. */
const quietFor = 1500;

export function Reconnecting({ team }: { team: string }) {
  const state = useLive(team);
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (state === "up") return setLong(false);
    const timer = setTimeout(() => setLong(true), quietFor);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <span className="reconnecting" role="status">
      {isLong && "Reconnecting"}
    </span>
  );
}
