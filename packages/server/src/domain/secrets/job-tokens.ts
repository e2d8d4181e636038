/**
 * Tokens of running jobs. A job's token is not stored. It contains the id of the job's attempt and a signature by a key
 * of the key ring. So creating a token needs no write, and the token becomes invalid when the row of the attempt is
 * deleted.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { KeyRing } from "./key-ring.ts";

/** The attempt that a job's token belongs to. */
export interface RunningAttempt {
  readonly jobId: string;
  readonly attempt: number;
}

/**
 * Pattern of a job's token. The token begins with the prefix of all tokens, and has only characters that no escaping
 * changes.
 */
const form = /^isat_job_([0-9a-f-]{36})_(\d{1,9})_([\w-]{43})$/;

/** Returns the token of an attempt, signed with the newest key. */
export const newJobToken = (keys: KeyRing, running: RunningAttempt): string => tokensOfJob(keys, running)[0] as string;

/**
 * Returns the tokens of an attempt under all keys of the ring, because it is not recorded which key was newest when the
 * job started.
 */
export const tokensOfJob = (keys: KeyRing, running: RunningAttempt): string[] =>
  keys.derive("job token").map((key) => `isat_job_${running.jobId}_${running.attempt}_${sign(key, running)}`);

const sign = (key: Buffer, { jobId, attempt }: RunningAttempt) =>
  createHmac("sha256", key).update(`${jobId} ${attempt}`).digest("base64url");

/**
 * Returns the attempt that a token belongs to; undefined if the signature is wrong. The caller checks whether the
 * attempt still runs.
 */
export function readJobToken(keys: KeyRing, token: string): RunningAttempt | undefined {
  const [, jobId, attempt, signature] = form.exec(token) ?? [];
  if (!jobId || !attempt || !signature) return undefined;
  const running = { jobId, attempt: Number(attempt) };
  const given = Buffer.from(token);
  // The whole text is compared, so that another spelling of the number or signature is not accepted.
  const known = tokensOfJob(keys, running).some((own) => {
    const expected = Buffer.from(own);
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return known ? running : undefined;
}
