/** Time limits and retries: of a job, of the runs of a pipeline, and the defaults of a team. */
import { maybe } from "./schema.ts";
import { Type } from "./type.ts";

/** Maximum values; `timeout` and `delay` are in seconds. */
export const retryLimits = { timeout: 30 * 86_400, retries: 20, delay: 3600 } as const;

/** Default number of seconds before the first retry. */
export const usualRetryDelay = 30;

/**
 * Returns the seconds before the retry with this number, beginning with 1. The delay doubles with each retry, up to an
 * hour.
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

/** Time limit and retries in responses; each field is absent if it is not set. */
export const retrySettings = {
  timeout: Type.Optional(Timeout),
  retries: Type.Optional(Retries),
  retry_delay: Type.Optional(RetryDelay),
} as const;

/** Defaults of a team, for jobs that set no values of their own. */
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
