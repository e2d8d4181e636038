/**
 * Fault points for the crash tests. `MILLRACE_FAULT=attempt-committed:3` kills the server with SIGKILL the third time
 * it passes that point. `claim-delay:0.2` makes each job supervisor wait 0.2 seconds before it claims its attempt.
 */
type FaultPoint =
  | "job-committed"
  | "attempt-committed"
  | "attempt-submitted"
  | "exit-observed"
  | "result-committed"
  | "log-stored"
  | "events-told"
  | "delivery-taken"
  | "delivery-sent"
  | "key-added"
  | "values-encrypted"
  | "key-unused"
  | "key-dropped";

export interface Faults {
  pass(point: FaultPoint): void;
  /** Seconds that each supervisor waits before it claims its attempt, as text for the shell; empty for no delay. */
  readonly claimDelay: string;
}

export function readFaults(text: string): Faults {
  const parts = new Map(text.split(",").map((part) => part.split(":") as [string, string]));
  const passed = new Map<string, number>();
  return {
    claimDelay: parts.get("claim-delay") ?? "",
    pass(point) {
      const limit = parts.get(point);
      if (limit === undefined) return;
      passed.set(point, (passed.get(point) ?? 0) + 1);
      if (passed.get(point) === Number(limit)) process.kill(process.pid, "SIGKILL");
    },
  };
}
