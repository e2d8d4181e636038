/** Finds the build of the environment in the first lines of a Python job's log, and folds it away. */
import { type Job, routes } from "@millrace/contract";
import { useEffect, useState } from "react";
import { clientOf } from "../api/client.ts";
import { plainOf } from "./ansi.ts";
import { environmentFold, type Fold } from "./folds.ts";
import type { OpenLog } from "./use-log.ts";

const firstLines = 1000;

export function useFold(job: Job, log: OpenLog, attempt: number | undefined): [Fold | undefined, boolean, () => void] {
  const [fold, setFold] = useState<Fold>();
  const [isOpen, setOpen] = useState(false);
  const { team, id, query_type } = job;
  // While the build goes on, look again when the log has grown; after that never again.
  const seen = Math.min(firstLines, log.lines.total ?? 0);
  useEffect(() => {
    if (query_type !== "PYTHON" || fold !== undefined || seen < 2) return;
    const leaving = new AbortController();
    const query = { first_line: 1, limit: firstLines, ...(attempt === undefined ? {} : { attempt }) };
    clientOf(team)
      .call(routes.getLogLines, { params: { job_id: id }, query }, { signal: leaving.signal })
      .then(({ lines }) => setFold(environmentFold(lines.map(({ text }) => plainOf(text)))))
      // Without it the log is shown as it is.
      .catch(() => {});
    return () => leaving.abort();
  }, [team, id, query_type, attempt, fold, seen]);
  return [fold, isOpen, () => setOpen(!isOpen)];
}
