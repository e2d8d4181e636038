/** Creates a job exactly once, even if the request is sent several times. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ApiError, type Job, type JobInput, routes } from "@millrace/contract";
import { type Connection, UnreachableError } from "../connection.ts";
import type { Output } from "../output.ts";

const waits = [1000, 2000, 4000];

export async function createJob({ client }: Connection, body: JobInput, output: Output): Promise<Job> {
  // If a key is sent again, the server returns the job that the first request with the key created.
  const headers = { "idempotency-key": randomUUID() };
  for (const wait of waits) {
    try {
      return await client.call(routes.createJob, { body }, { headers });
    } catch (error) {
      if (!isTransient(error)) throw error;
      output.progress(`${(error as Error).message}; trying again ...`);
      await delay(wait + Math.random() * 500);
    }
  }
  return client.call(routes.createJob, { body }, { headers });
}

const isTransient = (error: unknown) =>
  error instanceof UnreachableError ||
  // These retries are too short to wait until a full disk has space again.
  (error instanceof ApiError && error.status >= 500 && error.code !== "insufficient_storage");
