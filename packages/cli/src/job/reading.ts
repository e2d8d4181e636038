/**
 * Remembers how much of a job's log was read, over several connections, so that nothing is printed twice or skipped.
 */
import { isSettled, type JobStatus, type LogFrame, type LogPiece } from "@millrace/contract";
import { CliError } from "../errors.ts";

export interface Follower {
  /** Prints a piece of the log. A returned promise pauses the socket until the output has caught up. */
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
   * The byte offset to resume from: the start of the last piece, because its length in bytes is unknown. The server
   * sends that piece again, and it is skipped.
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

/** Returns the error for a log that the server refuses to send. In most cases, the job does not exist. */
const refusal = (why: string) => new CliError("Cannot follow the log", { why, next: "millrace job ls" });
