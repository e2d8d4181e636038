/** The last successful run with the same name before a job. */
import { type Job, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";

/** Null if there is none, undefined while it is read. */
export function useLastSuccess(job: Job): Job | null | undefined {
  const name = job.name ?? "";
  const query = { name, status: ["COMPLETE"], created_before: job.created_at, limit: 1 };
  const found = useApi(routes.listJobs, { query }, { enabled: name !== "" });
  const id = found.data?.[0]?.id;
  // The texts of a list may be cut, so the job is read again by itself.
  const whole = useApi(routes.listJobs, { query: { job_id: id ?? job.id } }, { enabled: id !== undefined });
  if (name === "" || found.data?.length === 0) return null;
  return whole.data?.find((one) => one.id === id);
}
