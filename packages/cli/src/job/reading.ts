/** What a follower has seen of a job, across any number of connections: nothing is told twice, nothing is skipped. */
import { isSettled, type JobStatus, type LogFrame, type LogPiece } from "@millrace/contract";
import { CliError } from "../errors.ts";

export interface Follower {
  /** A promise holds the socket back until the reader has caught up. */
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

  /** Where to resume: at the last piece again, which is then skipped. Its length in bytes is not known for sure. */
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

/** The server's word that there is nothing to follow: an unknown job, most of the time. */
const refusal = (why: string) => new CliError("The log cannot be followed", { why, next: "millrace job ls" });
