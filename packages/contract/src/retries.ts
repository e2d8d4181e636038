/** Time limits and retries: what may be asked for, of a job, for the runs of a pipeline, and as a team's default. */
import { maybe } from "./schema.ts";
import { Type } from "./type.ts";

/** The most that may be asked for; times in seconds. */
export const retryLimits = { timeout: 30 * 86_400, retries: 20, delay: 3600 } as const;

/** Seconds before the first retry, where nobody has said otherwise. */
export const usualRetryDelay = 30;

/** Seconds to wait before this retry, counted from 1: each waits twice as long as the one before, an hour at most. */
export const retryWait = (delay: number, retry: number): number =>
  Math.min(delay * 2 ** (retry - 1), retryLimits.delay);

const seconds = (maximum: number, description: string) => Type.Integer({ minimum: 0, maximum, description });

export const timeoutText = "seconds that an attempt may run, from its start; 0: no limit";
export const retriesText = "how often the job is tried again after a failure; 0: never";
export const retryDelayText = "seconds before the first retry; each further one waits twice as long, an hour at most";

const Timeout = seconds(retryLimits.timeout, timeoutText);
const Retries = Type.Integer({ minimum: 0, maximum: retryLimits.retries, description: retriesText });
const RetryDelay = seconds(retryLimits.delay, retryDelayText);

/** In requests. */
export const retryInput = { timeout: maybe(Timeout), retries: maybe(Retries), retry_delay: maybe(RetryDelay) } as const;

/** In answers: only what is set. */
export const retrySettings = {
  timeout: Type.Optional(Timeout),
  retries: Type.Optional(Retries),
  retry_delay: Type.Optional(RetryDelay),
} as const;

/** Of a team, for jobs that say nothing. */
export const teamRetryInput = {
  job_timeout: maybe(seconds(retryLimits.timeout, `for jobs that name none: ${timeoutText}`)),
  job_retries: maybe(
    Type.Integer({ minimum: 0, maximum: retryLimits.retries, description: `for jobs that name none: ${retriesText}` }),
  ),
  job_retry_delay: maybe(
    seconds(retryLimits.delay, `for jobs that name none: ${retryDelayText}; 0: ${usualRetryDelay} seconds`),
  ),
} as const;
