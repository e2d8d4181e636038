/** Converts a row of the `attempts` table to the form that engines take. */
import { type Attempt, attemptKey } from "../engines/engine.ts";
import type { AttemptRow } from "../store/queries/jobs/attempts.ts";

export const attemptOf = ({ job_id, attempt, handle, boot_id }: AttemptRow): Attempt => ({
  key: attemptKey(job_id, attempt),
  handle,
  epoch: boot_id,
});
