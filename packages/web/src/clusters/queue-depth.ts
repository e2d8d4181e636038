/** How many jobs waited at the same time, from the times of the jobs themselves. */
import { isIn, type Job } from "@millrace/contract";

interface Point {
  readonly at: number;
  readonly value: number;
}

type Waited = Pick<Job, "created_at" | "started_at" | "finished_at" | "status">;

/** Returns the number of waiting jobs at each moment at which it changed, oldest first, and now. */
export function queueDepth(jobs: readonly Waited[], now: number): Point[] {
  const changes = jobs.flatMap((job) => {
    const until = endOfWait(job);
    return until === undefined ? [] : [{ at: Date.parse(job.created_at), by: 1 }, ...ended(until, now)];
  });
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  const points: Point[] = [];
  let value = 0;
  for (const { at, by } of changes) {
    // The line falls and rises at once, not in slopes.
    points.push({ at, value }, { at, value: value + by });
    value += by;
  }
  return points.length === 0 ? [] : [...points, { at: now, value }];
}

const ended = (until: number, now: number) => (until > now ? [] : [{ at: until, by: -1 }]);

/** When the job stopped waiting; infinity while it waits, undefined if it never does. */
function endOfWait({ started_at, finished_at, status }: Waited): number | undefined {
  const end = started_at ?? finished_at;
  if (end !== null) return Date.parse(end);
  return isIn("waiting", status) ? Number.POSITIVE_INFINITY : undefined;
}
