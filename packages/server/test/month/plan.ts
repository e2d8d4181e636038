/**
 * The plan of a month: who has which schedules, how their runs fare, and what happens to everybody meanwhile. Plain data,
 * read by the model that says what should come of it and by the player that lets it happen; it imports nothing.
 */
export const minute = 60_000;

/** A time as it is written in the plan, in UTC. */
export type Time = string;
export const at = (time: Time): number => Date.parse(`2026-${time}Z`);

export interface Span {
  readonly from: Time;
  readonly to: Time;
}

export type Person = "lead" | "analyst" | "contractor";
/** A team's service account is no person. */
export const serviceAccount = "main-service";

/** How one attempt of a run fares: after so many minutes it ends, well or badly; without minutes it hangs. */
export type Attempt = { readonly well: number } | { readonly badly: number } | "hangs";

/** Of runs for moments of this span, by attempt; what is not named here fares as usual. */
export interface Spell extends Span {
  readonly attempts: readonly Attempt[];
}

interface Runs {
  readonly name: string;
  /** Who wrote and ran its script, and made it a schedule. */
  readonly by: Person;
  /** Minutes of a run on a usual day. */
  readonly usual: number;
  readonly spells?: readonly Spell[];
  /** In minutes. */
  readonly timeout?: number;
  readonly retries?: number;
  readonly retryDelay?: number;
}

export interface PlannedTask extends Runs {
  readonly cron: string;
  readonly timezone: string;
}

export interface PlannedSchedule extends Runs {
  /** Absent: a dataset fires it. */
  readonly cron?: string;
  readonly timezone: string;
  readonly overlap?: "skip" | "wait" | "allow";
  readonly catchUp?: "one" | "none" | "all";
  readonly follow?: true;
  /** Whose new versions fire it, and for how many minutes none may have come. */
  readonly trigger?: { readonly by: string; readonly quiet: number };
  readonly runsAs?: typeof serviceAccount;
  readonly pauses?: readonly Span[];
}

/** What people do meanwhile. */
export type Deed =
  /** Somebody runs a newer script of this name by hand; it takes a minute. */
  | { readonly what: "new script"; readonly of: string; readonly by: Person }
  | { readonly what: "refresh"; readonly of: string }
  /** A version that no job made: nothing can be rebuilt from it. */
  | { readonly what: "foreign version"; readonly of: string }
  | { readonly what: "pause" | "resume"; readonly of: string }
  | { readonly what: "leave"; readonly who: Person; readonly transferTo?: Person }
  | { readonly what: "hand over"; readonly of: string; readonly to: typeof serviceAccount };

export interface Outage extends Span {
  /** No server runs, or there is one whose disk is nearly full. */
  readonly why: "down" | "full";
}

export interface Listener {
  readonly name: string;
  readonly kind: "webhook" | "slack" | "mail";
  /** Absent: all of them. */
  readonly events?: readonly string[];
  /** States of jobs that it is told. */
  readonly states?: readonly "FAILED"[];
}

export interface Month extends Span {
  readonly schedules: readonly PlannedSchedule[];
  readonly tasks: readonly PlannedTask[];
  readonly deeds: readonly (Deed & { readonly at: Time })[];
  readonly outages: readonly Outage[];
  readonly listeners: readonly Listener[];
  /** When receivers of webhooks answer nothing but errors. */
  readonly deaf: readonly Span[];
  /** When the wall clock is wrong, by so many days. */
  readonly wrongClock: readonly (Span & { readonly days: number })[];
}

/** One schedule, one week, one outage: the smallest month there is. */
export const week: Month = {
  from: "10-02T00:00",
  to: "10-09T00:00",
  schedules: [
    {
      name: "nightly",
      by: "lead",
      cron: "30 2 * * *",
      timezone: "Europe/Berlin",
      usual: 25,
      spells: [{ from: "10-05T00:00", to: "10-06T00:00", attempts: [{ badly: 3 }] }],
    },
  ],
  tasks: [],
  deeds: [],
  outages: [{ from: "10-07T00:10", to: "10-07T02:15", why: "down" }],
  listeners: [{ name: "all", kind: "webhook" }],
  deaf: [],
  wrongClock: [],
};
