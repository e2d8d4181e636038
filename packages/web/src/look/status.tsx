/** The state of a job, pipeline or schedule: a shape, a colour and a word, the same on every screen. */
import "./status.css";

export type Tone = "good" | "bad" | "run" | "wait" | "off" | "warn";

/** The tone and the word of each state. States of jobs, pipelines and other nouns that share a word share a line. */
const states: Readonly<Record<string, readonly [Tone, string]>> = {
  CREATED: ["wait", "Created"],
  SCHEDULED: ["wait", "Scheduled"],
  QUEUED: ["wait", "Queued"],
  PENDING: ["wait", "Waiting"],
  PROVISIONING: ["run", "Starting"],
  INIT: ["run", "Preparing"],
  RUNNING: ["run", "Running"],
  CANCELING: ["warn", "Canceling"],
  CANCELING_SCHEDULED: ["warn", "Canceling"],
  TASK: ["wait", "Task"],
  COMPLETE: ["good", "Complete"],
  COMPLETED: ["good", "Complete"],
  FAILED: ["bad", "Failed"],
  CANCELED: ["off", "Canceled"],
  PAUSED: ["warn", "Paused"],
  WAITING: ["wait", "Waiting"],
  // Health of a schedule.
  ok: ["good", "Ok"],
  failing: ["bad", "Failing"],
  skipping: ["warn", "Skipping"],
  overdue: ["bad", "Overdue"],
  paused: ["warn", "Paused"],
  // What a schedule did when it was due.
  fired: ["good", "Started"],
  failed: ["bad", "Failed"],
  skipped: ["off", "Skipped"],
  missed: ["off", "Missed"],
  waits: ["wait", "Waits"],
};

export const shapes: Readonly<Record<Tone, string>> = {
  good: "M3.5 8.5 6.5 11.5 12.5 4.5",
  bad: "M4 4l8 8M12 4l-8 8",
  run: "M8 3a5 5 0 1 1-5 5",
  wait: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z",
  off: "M3.5 8h9",
  warn: "M5.5 4v8M10.5 4v8",
};

export const toneOf = (status: string): Tone => states[status]?.[0] ?? "wait";
export const wordOf = (status: string): string => states[status]?.[1] ?? sentenceCase(status);

const sentenceCase = (text: string) => text.charAt(0) + text.slice(1).toLowerCase().replaceAll("_", " ");

/**
 * The shape alone, for small places. Its colour and form are the state; the word must be near. `still` is for
 * shapes that stand for a state as such, not for something that runs.
 */
export const StatusShape = ({ tone, still = false }: { tone: Tone; still?: boolean }) => (
  <svg
    className={`shape ${tone}${still ? " still" : ""}`}
    width="14"
    height="14"
    viewBox="0 0 16 16"
    aria-hidden="true"
  >
    <path d={shapes[tone]} fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
  </svg>
);

/** The shape within another picture, on a grid of 16. */
export const StatusPath = ({ tone }: { tone: Tone }) => (
  <path className={`shape ${tone}`} d={shapes[tone]} fill="none" stroke="currentColor" strokeWidth="2" />
);

export const Status = ({ status, word }: { status: string; word?: string }) => (
  <span className={`status ${toneOf(status)}`}>
    <StatusShape tone={toneOf(status)} />
    {word ?? wordOf(status)}
  </span>
);
