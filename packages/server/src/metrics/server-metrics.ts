/**
 * Metrics that the server counts in memory. Metrics about stored data are not counted here: they are read from the
 * store at each scrape.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Histogram } from "./series.ts";
import type { Family } from "./text.ts";

const requestBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const waitBounds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400];
const runBounds = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400];

export class ServerMetrics {
  /** In this counter, the label `team` is the team's id. Each scrape replaces the id by the team's name. */
  readonly jobsEnded = new Counter("millrace_jobs_ended_total", "Jobs that ended since the server started.");
  readonly jobsRetried = new Counter(
    "millrace_jobs_retried_total",
    "Failed attempts of jobs that were retried, since the server started.",
  );
  readonly ticksSkipped = new Counter(
    "millrace_task_ticks_skipped_total",
    "Ticks of tasks that created no job because a quota of the team was used up.",
  );
  readonly scheduleTicks = new Counter("millrace_schedule_ticks_total", "Ticks of schedules by outcome.");
  readonly deliveries = new Counter(
    "millrace_deliveries_total",
    "Attempts to deliver webhooks and e-mails by outcome, since the server started.",
  );
  readonly dispatch = new Histogram(
    "millrace_job_dispatch_seconds",
    "Time from the creation of a job to its first start.",
    waitBounds,
  );
  readonly jobDuration = new Histogram(
    "millrace_job_duration_seconds",
    "Time from the start of a job to its end.",
    runBounds,
  );
  readonly requests = new Counter("millrace_http_requests_total", "HTTP requests that were answered.");
  readonly requestDuration = new Histogram("millrace_http_request_seconds", "Time to answer a request.", requestBounds);
  readonly storeWrite = new Histogram(
    "millrace_store_write_seconds",
    "Time from requesting a write to its commit on disk.",
    requestBounds,
  );
  readonly logBytesRead = new Counter(
    "millrace_log_read_bytes_total",
    "Bytes of logs read and masked for followers; followers at the same offset share one read.",
  );
  readonly warmStarts = new Counter(
    "millrace_warm_starts_total",
    "Jobs for which an interpreter could wait: `hit` if one did, `miss` if the job started without one.",
  );
  /** Returns how many interpreters wait for a job. The local engine replaces it. */
  waitingInterpreters: () => number = () => 0;
  /** Open WebSockets of clients that follow a log. */
  readonly followers = new Set<{ readonly bufferedAmount: number }>();
  readonly #lag = monitorEventLoopDelay({ resolution: 100 });

  constructor() {
    this.#lag.enable();
  }

  families(): Family[] {
    const series = [
      this.jobsEnded,
      this.jobsRetried,
      this.ticksSkipped,
      this.scheduleTicks,
      this.deliveries,
      this.dispatch,
      this.jobDuration,
      this.requests,
      this.requestDuration,
      this.storeWrite,
      this.logBytesRead,
      this.warmStarts,
    ];
    return [
      ...series.map((one) => one.family()),
      gauge("millrace_log_followers", "Open log sockets.", this.followers.size),
      gauge("millrace_waiting_interpreters", "Interpreters that wait for a job.", this.waitingInterpreters()),
      gauge("millrace_log_buffered_bytes", "Bytes queued for followers that are not sent yet.", this.#buffered()),
      gauge("nodejs_eventloop_lag_p50_seconds", "Median event-loop lag since the last scrape.", this.#percentile(50)),
      gauge(
        "nodejs_eventloop_lag_p99_seconds",
        "99th percentile of event-loop lag since the last scrape.",
        this.#percentile(99),
      ),
      gauge("nodejs_eventloop_lag_max_seconds", "Longest event-loop lag since the last scrape.", this.#longestLag()),
    ];
  }

  #buffered = () => [...this.followers].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, 0);

  close(): void {
    this.#lag.disable();
  }

  /** Returns a percentile of the event-loop delay in seconds. The interval of the measuring timer is subtracted. */
  #percentile = (percent: number) => seconds(this.#lag.count === 0 ? 0 : this.#lag.percentile(percent));

  #longestLag(): number {
    const longest = seconds(this.#lag.count === 0 ? 0 : this.#lag.max);
    this.#lag.reset();
    return longest;
  }
}

const seconds = (nanoseconds: number) => Math.max(0, nanoseconds - 100e6) / 1e9;

export const gauge = (name: string, help: string, value: number): Family => ({
  name,
  help,
  type: "gauge",
  samples: [{ labels: {}, value }],
});
