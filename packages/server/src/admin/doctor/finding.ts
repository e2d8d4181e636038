/** Something that was looked at, and what to do about it. */
export interface Finding {
  readonly level: "ok" | "warn" | "error";
  readonly topic: string;
  readonly message: string;
  /** What to do about it. */
  readonly next?: string;
}
