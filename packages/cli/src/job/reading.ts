/**
 * Remembers how much of a job's log was read, over several connections, so that nothing is printed twice or skipped.
 */
import { isSettled, type JobStatus, type LogFrame, type LogPiece } from "@millrace/contract";
import { CliError } from "../errors.ts";

export interface Follower {
  /** Prints a piece of the log. If the result is a promise, the socket pauses until the promise resolves. */
  onLog(text: string): Promise<void> | undefined;
  onStatus(status: JobStatus): void;
  onBreak(seconds: number): void;
}

export class Reading {
  readonly #follower: Follower;
  readonly #statuses = new Set<JobStatus>();
  readonly #start: number;
  #lastId = 0;
  news = 0;
  final: JobStatus | undefined;

  constructor(follower: Follower, start: number) {
    this.#follower = follower;
    this.#start = start;
  }

  /**
   * The byte offset from which to resume. It is the start of the last piece, because the length of this piece in bytes
   * is unknown. The server therefore sends this piece again, and this class skips it.
   */
  get after(): number {
    return this.#lastId > 0 ? this.#lastId - 1 : this.#start;
  }

  take(frame: LogFrame): Promise<void> | undefined {
    if ("message" in frame) throw refusal(frame.message);
    if ("job" in frame) this.takeStatus(frame.job.status);
    return "logs" in frame ? this.takePieces(frame.logs) : undefined;
  }

  takePieces(pieces: readonly LogPiece[]): Promise<void> | undefined {
    const fresh = pieces.filter(({ id }) => id > this.#lastId);
    const last = fresh.at(-1);
    if (!last) return undefined;
    this.#lastId = last.id;
    this.news++;
    return this.#follower.onLog(fresh.map(({ message }) => message).join(""));
  }

  takeStatus(status: JobStatus): void {
    if (isSettled(status)) this.final = status;
    if (this.#statuses.has(status)) return;
    this.#statuses.add(status);
    this.news++;
    this.#follower.onStatus(status);
  }
}

/** Returns the error for a log that the server refuses to send. Mostly, this is because the job does not exist. */
const refusal = (why: string) => new CliError("Cannot follow the log", { why, next: "millrace job ls" });
