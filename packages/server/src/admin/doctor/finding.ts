/** The result of one check of `millrace doctor`. */
export interface Finding {
  readonly level: "ok" | "warn" | "error";
  readonly topic: string;
  readonly message: string;
  /** What to do about the problem. */
  readonly next?: string;
}
