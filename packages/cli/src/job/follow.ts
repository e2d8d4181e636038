/**
 * Follows a job over the log socket until it has ended: prints every piece of the log once and in order, and every
 * status once, even if the connection breaks.
 * The server sends the whole log before the final status, so a final status from the socket means that the log is
 * complete. If the job ends while the connection is broken, the rest is read with ordinary requests.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ApiError, isSettled, type JobStatus, type LogPage, routes } from "@millrace/contract";
import { type Connection, UnreachableError } from "../connection.ts";
import { CliError } from "../errors.ts";
import { fetchJob } from "./find.ts";
import { type Follower, Reading } from "./reading.ts";
import { readSocket } from "./socket.ts";

const maxFailures = 15;
const longestWait = 30_000;
/** If a connection lasted this many milliseconds, it counts as successful, even if nothing was received. */
const goodConnection = 15_000;

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Byte offset in the log to start at; it must be the start of a piece. */
  readonly after: number;
  /** True to receive statuses only, without the log. */
  readonly statusesOnly: boolean;
}

export async function followJob(
  connection: Connection,
  jobId: string,
  follower: Follower,
  { signal, after, statusesOnly }: FollowOptions,
): Promise<JobStatus> {
  const reading = new Reading(follower, after);
  for (let failures = 0; failures <= maxFailures; ) {
    const before = { news: reading.news, time: Date.now() };
    const request = { jobId, after: reading.after, statusesOnly };
    await readSocket(connection, request, signal, (frame) => reading.take(frame));
    signal.throwIfAborted();
    if (!reading.final) await endOverRest(connection, jobId, reading, statusesOnly);
    if (reading.final) return reading.final;
    const wasGood = reading.news > before.news || Date.now() - before.time > goodConnection;
    failures = wasGood ? 0 : failures + 1;
    const wait = Math.min(500 * 2 ** failures, longestWait);
    follower.onBreak(Math.ceil(wait / 1000));
    await delay(wait + Math.random() * 250, undefined, { signal });
  }
  throw new CliError("Lost the connection to the log", {
    why: `${maxFailures} attempts to reconnect failed. The job continues on the server`,
    next: `millrace job logs ${jobId}`,
  });
}

/**
 * If the job has ended, reads the rest of the log and then the final status. If the job has not ended, or the server
 * cannot be reached, does nothing, and the caller tries again.
 */
async function endOverRest(connection: Connection, jobId: string, reading: Reading, statusesOnly: boolean) {
  try {
    const { status } = await fetchJob(connection, jobId);
    if (!isSettled(status)) return;
    if (!statusesOnly) await readRest(connection, jobId, reading);
    reading.takeStatus(status);
  } catch (error) {
    if (!isPassing(error)) throw error;
  }
}

/** Tells whether the same request may succeed later: the server was unreachable, failed or was busy. */
const isPassing = (error: unknown) =>
  error instanceof UnreachableError || (error instanceof ApiError && (error.status >= 500 || error.status === 429));

async function readRest({ client }: Connection, jobId: string, reading: Reading): Promise<void> {
  for (let after: number | null = reading.after; after !== null; ) {
    const page: LogPage = await client.call(routes.getJobLogs, {
      params: { job_id: jobId },
      query: { format: "json", after },
    });
    await reading.takePieces(page.logs);
    after = page.complete || page.next === after ? null : page.next;
  }
}
