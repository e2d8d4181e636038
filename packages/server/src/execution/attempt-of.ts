/** An open attempt of the store, as its engine knows it. */
import { type Attempt, attemptKey } from "../engines/engine.ts";
import type { AttemptRow } from "../store/queries/jobs/attempts.ts";

export const attemptOf = ({ job_id, attempt, handle, boot_id }: AttemptRow): Attempt => ({
  key: attemptKey(job_id, attempt),
  handle,
  epoch: boot_id,
});
