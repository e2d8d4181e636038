/** How a command fails: an exit code, and a message that says what happened, why, and what to do next. */

/**
 * Exit codes. A command that follows a job returns 0 if the job is complete, 1 if it failed, and 2 if it was canceled;
 * 1 is also the code for other errors. After a signal, the exit code is `signal` plus the number of the signal.
 */
export const exitCodes = {
  error: 1,
  signInNeeded: 4,
  usage: 64,
  signal: 128,
  interrupted: 130,
  brokenPipe: 141,
} as const;

interface Explanation {
  readonly why?: string | undefined;
  /** What to do next: a command, or a sentence. */
  readonly next?: string | undefined;
  readonly exitCode?: number;
  readonly cause?: unknown;
}

export class CliError extends Error {
  readonly why: string | undefined;
  readonly next: string | undefined;
  readonly exitCode: number;

  constructor(what: string, explanation: Explanation = {}) {
    super(what, { cause: explanation.cause });
    this.name = "CliError";
    this.why = explanation.why;
    this.next = explanation.next;
    this.exitCode = explanation.exitCode ?? exitCodes.error;
  }
}

export const usageError = (what: string, explanation: Omit<Explanation, "exitCode"> = {}) =>
  new CliError(what, { ...explanation, exitCode: exitCodes.usage });

/** Returns the message of anything thrown, including the cause that `fetch` hides behind "fetch failed". */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors.length > 0) return messageOf(cause.errors[0]);
  return cause instanceof Error && error.message === "fetch failed" ? messageOf(cause) : error.message;
}
