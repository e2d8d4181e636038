/** Time limits and retries of jobs and of the runs of pipelines, and a team's defaults for them. */
import { maybe } from "./schema.ts";
import { Type } from "./type.ts";

/** Maximum values. `timeout` and `delay` are in seconds, `retries` is a count. */
export const retryLimits = { timeout: 30 * 86_400, retries: 20, delay: 3600 } as const;

/** Default delay before the first retry, in seconds. */
export const usualRetryDelay = 30;

/**
 * Returns the delay before a retry in seconds. `delay` is the delay before the first retry, and `retry` is the number
 * of the retry, counted from 1. The delay doubles with each retry, up to an hour.
 */
export const retryWait = (delay: number, retry: number): number =>
  Math.min(delay * 2 ** (retry - 1), retryLimits.delay);

const seconds = (maximum: number, description: string) => Type.Integer({ minimum: 0, maximum, description });

export const timeoutText = "time limit of an attempt in seconds, from its start; 0 means no limit";
export const retriesText = "number of retries after a failure; 0 means none";
export const retryDelayText = "seconds before the first retry; the delay doubles with each retry, up to an hour";

const Timeout = seconds(retryLimits.timeout, timeoutText);
const Retries = Type.Integer({ minimum: 0, maximum: retryLimits.retries, description: retriesText });
const RetryDelay = seconds(retryLimits.delay, retryDelayText);

/** Fields of requests that set the time limit and retries of a job, or of the runs of a pipeline. */
export const retryInput = { timeout: maybe(Timeout), retries: maybe(Retries), retry_delay: maybe(RetryDelay) } as const;

/** Fields for the time limit and retries in responses. A field is absent if its value is not set. */
export const retrySettings = {
  timeout: Type.Optional(Timeout),
  retries: Type.Optional(Retries),
  retry_delay: Type.Optional(RetryDelay),
} as const;

/** Fields for a team's defaults, which apply to jobs that set no values of their own. */
export const teamRetryInput = {
  job_timeout: maybe(seconds(retryLimits.timeout, `default for the team's jobs: ${timeoutText}`)),
  job_retries: maybe(
    Type.Integer({
      minimum: 0,
      maximum: retryLimits.retries,
      description: `default for the team's jobs: ${retriesText}`,
    }),
  ),
  job_retry_delay: maybe(
    seconds(retryLimits.delay, `default for the team's jobs: ${retryDelayText}; 0 means ${usualRetryDelay} seconds`),
  ),
} as const;
