/**
 * Shares the state and the log of a job among all WebSocket clients that follow the job, so that the server reads them
 * only once.
 */

import { isSettled } from "@millrace/contract";
import { BlobsUnavailable } from "../../blobs/blobs.ts";
import { openJobLog } from "../../job-logs/job-log.ts";
import type { GrowingLog } from "../../logs/joined-log.ts";
import { KeptFrames, LogFrames } from "../../logs/log-frames.ts";
import { isUnavailable } from "../../store/drivers/unavailable.ts";
import { getJobState, getJobStates, type JobState } from "../../store/queries/jobs/jobs.ts";
import { asServer } from "../../turns/asker.ts";
import { Signal } from "../../turns/signals.ts";
import type { JobContext } from "../requests/context.ts";
import { JobStates } from "./job-states.ts";

const pollMs = 100;
/** Milliseconds between two polls while the store is unreachable. */
const outageMs = 500;

type FeedContext = Pick<JobContext, "store" | "engines" | "keys" | "signals" | "metrics">;

/** State of the job at one poll. */
interface Look {
  /** Number of polls so far that found a change. */
  readonly version: number;
  /** Undefined if the job does not exist. */
  readonly job: JobState | undefined;
  /** Undefined if no follower wants the log, or if no attempt has started. */
  readonly frames: LogFrames | undefined;
  /** Bytes of the log; 0 if `frames` is undefined. */
  readonly size: number;
}

/** Objects that all feeds of a server share. */
interface SharedByFeeds {
  readonly context: FeedContext;
  readonly kept: KeptFrames;
  readonly states: JobStates;
}

export class JobFeeds {
  readonly #feeds = new Map<string, JobFeed>();
  readonly #shared: SharedByFeeds;

  constructor(context: FeedContext) {
    const states = new JobStates(async (ids) => {
      const [first = "", ...others] = ids;
      if (others.length > 0) return getJobStates(context.store.db, ids);
      // A query for one id is a prepared statement; a query for several is not.
      const state = await getJobState(context.store.db, first);
      return new Map(state && [[first, state]]);
    });
    this.#shared = { context, kept: new KeptFrames(), states };
  }

  /** Adds a follower to the feed of a job and returns the feed. The follower must call `leave` on it in the end. */
  join(jobId: string, withLog: boolean): JobFeed {
    const known = this.#feeds.get(jobId);
    const forget = () => this.#forget(jobId, feed);
    const feed = known ?? new JobFeed(this.#shared, jobId, forget);
    this.#feeds.set(jobId, feed);
    feed.enter(withLog);
    return feed;
  }

  #forget(jobId: string, feed: JobFeed): void {
    if (this.#feeds.get(jobId) === feed) this.#feeds.delete(jobId);
  }
}

interface OpenedLog {
  readonly attempt: number;
  readonly retried: number;
  readonly log: GrowingLog;
  readonly frames: LogFrames;
  size: number;
  /** Number of reads in progress. */
  reads: number;
}

class JobFeed {
  readonly #context: FeedContext;
  readonly #jobId: string;
  readonly #kept: KeptFrames;
  readonly #states: JobStates;
  readonly #onEnd: () => void;
  readonly #ended = new AbortController();
  readonly #due = new Signal();
  /**
   * Logs of the job, oldest first. One is added when an attempt starts, and one when a failed attempt is scheduled for a
   * retry. A log is closed once it is not the last one and nobody reads it.
   */
  readonly #logs: OpenedLog[] = [];
  readonly #waiting = new Set<() => void>();
  #followers = 0;
  #withLog = false;
  #look: Look = { version: 0, job: undefined, frames: undefined, size: 0 };
  #failure: unknown;

  constructor({ context, kept, states }: SharedByFeeds, jobId: string, onEnd: () => void) {
    this.#context = context;
    this.#jobId = jobId;
    this.#kept = kept;
    this.#states = states;
    this.#onEnd = onEnd;
    // Whoever follows first may leave before the others.
    void asServer(() => this.#run());
  }

  enter(withLog: boolean): void {
    this.#followers++;
    if (!withLog || this.#withLog) return;
    this.#withLog = true;
    this.#due.wake();
  }

  leave(): void {
    if (--this.#followers > 0) return;
    this.#onEnd();
    this.#ended.abort();
  }

  /**
   * Waits until the version of the newest state is greater than `version`, and returns this state. Returns undefined
   * when aborted.
   */
  async after(version: number, abort: AbortSignal): Promise<Look | undefined> {
    while (!abort.aborted) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#look.version > version) return this.#look;
      await new Promise<void>((resolve) => {
        const resume = () => {
          this.#waiting.delete(resume);
          abort.removeEventListener("abort", resume);
          resolve();
        };
        this.#waiting.add(resume);
        abort.addEventListener("abort", resume);
      });
    }
    return undefined;
  }

  async #run(): Promise<void> {
    const stopListening = this.#context.signals.onJobChange(this.#jobId, () => this.#due.wake());
    try {
      while (!this.#ended.signal.aborted) {
        const seen = this.#due.count;
        if (await this.#lookAgain()) this.#tell();
        await this.#due.wait(pollMs, seen, this.#ended.signal);
      }
    } catch (error) {
      // The next follower starts a new feed.
      this.#failure = error;
      this.#onEnd();
      this.#tell();
    } finally {
      stopListening();
      for (const { frames } of this.#logs) frames.forget();
      await this.#logs
        .at(-1)
        ?.log.close()
        .catch(() => {});
    }
  }

  #tell(): void {
    for (const resume of [...this.#waiting]) resume();
  }

  /**
   * Polls the job once, and returns whether anything changed. The status is read before the log, so that the log is
   * complete if the status is final.
   */
  async #lookAgain(): Promise<boolean> {
    const job = await this.#untilReachable(() => this.#states.of(this.#jobId));
    const wanted = this.#withLog && job && job.attempt > 0 && !job.log_removed_at;
    const opened = wanted ? await this.#open(job) : undefined;
    if (opened && job && isSettled(job.status)) opened.log.end();
    const hasGrown = opened !== undefined && (await this.#untilReachable(() => measure(opened)));
    const before = this.#look;
    const isNew =
      before.version === 0 ||
      hasGrown ||
      before.frames !== opened?.frames ||
      before.job?.status !== job?.status ||
      before.job?.attempt !== job?.attempt ||
      before.job?.log_removed_at !== job?.log_removed_at;
    if (isNew) this.#look = { version: before.version + 1, job, frames: opened?.frames, size: opened?.size ?? 0 };
    return isNew;
  }

  /**
   * Repeats `read` while the store or the blob storage is unreachable. Meanwhile the job continues and its followers
   * wait.
   */
  async #untilReachable<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const isAway = isUnavailable(error) || error instanceof BlobsUnavailable;
        if (!isAway || this.#ended.signal.aborted) throw error;
        await new Signal().wait(outageMs, 0, this.#ended.signal);
      }
    }
  }

  /**
   * Opens the log of the job up to the current attempt. It begins with the logs of earlier attempts, so offsets that
   * were already sent stay valid.
   */
  async #open({ attempt, retried }: JobState): Promise<OpenedLog> {
    const known = this.#logs.at(-1);
    if (known?.attempt === attempt && known.retried === retried) return known;
    const { log } = await this.#untilReachable(() => openJobLog(this.#context, this.#jobId));
    const frames = new LogFrames({ read: (offset, length) => this.#read(offset, length) }, this.#kept);
    const opened = { attempt, retried, log, frames, size: 0, reads: 0 };
    this.#logs.push(opened);
    if (known) this.#closeUnread(known);
    return opened;
  }

  /** Reads log bytes for a frame. Always reads the newest log, which begins with the same bytes as the older logs. */
  async #read(offset: number, length: number): Promise<Buffer> {
    const opened = this.#logs.at(-1) as OpenedLog;
    opened.reads++;
    try {
      const bytes = await this.#untilReachable(() => opened.log.read(offset, length));
      this.#context.metrics.logBytesRead.add({}, bytes.length);
      return bytes;
    } finally {
      opened.reads--;
      if (opened !== this.#logs.at(-1)) this.#closeUnread(opened);
    }
  }

  /**
   * Closes a log that was replaced by a newer one, unless somebody still reads it. So a job with many attempts keeps
   * only one file open.
   */
  #closeUnread({ log, reads }: OpenedLog): void {
    if (reads === 0) void log.close().catch(() => {});
  }
}

/**
 * Measures the log, and returns whether it has grown since the last call. If the job truncated its log, followers wait
 * until it is longer than what they were sent.
 */
async function measure(opened: OpenedLog): Promise<boolean> {
  const size = await opened.log.size();
  if (size < opened.size) opened.frames.forget();
  if (size !== opened.size) opened.frames.lookAgain();
  const hasGrown = size > opened.size;
  opened.size = size;
  return hasGrown;
}
