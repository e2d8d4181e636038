/**
 * A job's own token. It is not stored: it names an attempt and is signed with a key of the ring, so it needs no write to
 * be made, and none to end, which it does with the attempt's row.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { KeyRing } from "./key-ring.ts";

export interface RunningAttempt {
  readonly jobId: string;
  readonly attempt: number;
}

/** It begins like every token, and has no character that any escaping would change. */
const form = /^isat_job_([0-9a-f-]{36})_(\d{1,9})_([\w-]{43})$/;

export const newJobToken = (keys: KeyRing, running: RunningAttempt): string => tokensOfJob(keys, running)[0] as string;

/** As any key of the ring signs it: which of them was first when the job began is not written down. */
export const tokensOfJob = (keys: KeyRing, running: RunningAttempt): string[] =>
  keys.derive("job token").map((key) => `isat_job_${running.jobId}_${running.attempt}_${sign(key, running)}`);

const sign = (key: Buffer, { jobId, attempt }: RunningAttempt) =>
  createHmac("sha256", key).update(`${jobId} ${attempt}`).digest("base64url");

/** Whose token it is; undefined: none of ours. Whether the attempt still runs is for the store to say. */
export function readJobToken(keys: KeyRing, token: string): RunningAttempt | undefined {
  const [, jobId, attempt, signature] = form.exec(token) ?? [];
  if (!jobId || !attempt || !signature) return undefined;
  const running = { jobId, attempt: Number(attempt) };
  const given = Buffer.from(token);
  // Compared as text: other spellings of the same number or signature are other tokens.
  const known = tokensOfJob(keys, running).some((own) => {
    const expected = Buffer.from(own);
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return known ? running : undefined;
}
