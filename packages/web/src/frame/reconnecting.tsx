/** Keeps a team's pages live, and says so while the connection is down or the server has no database. */
import { useEffect, useState } from "react";
import { useLive } from "../api/live.ts";

/** A connection that is back within this many milliseconds is not worth a word. */
const quietFor = 1500;

const explanation = "The server cannot reach its database. Running jobs continue, and the page goes on by itself.";

export function Reconnecting({ team }: { team: string }) {
  const state = useLive(team);
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (state === "up") return setLong(false);
    const timer = setTimeout(() => setLong(true), quietFor);
    return () => clearTimeout(timer);
  }, [state]);
  const word = state === "away" ? "No database" : "Reconnecting";
  return (
    <span className="reconnecting" role="status" title={isLong && state === "away" ? explanation : undefined}>
      {isLong && word}
    </span>
  );
}
