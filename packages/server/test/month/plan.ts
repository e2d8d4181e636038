/**
 * The plan of a month: who has which schedules, how their runs go, and what happens meanwhile. Plain data without
 * imports: the model derives the expected result from it, and the player carries it out.
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
/** A team's service account is not a person. */
export const serviceAccount = "main-service";

/** The course of one attempt: after this many minutes it succeeds or fails; without minutes it hangs. */
export type Attempt = { readonly well: number } | { readonly badly: number } | "hangs";

/** Courses of runs for moments of this time span, by attempt; all others are as usual. */
interface Spell extends Span {
  readonly attempts: readonly Attempt[];
}

interface Runs {
  readonly name: string;
  /** The user who wrote and ran its script, and created the schedule. */
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
  /** Absent if a dataset fires it. */
  readonly cron?: string;
  readonly timezone: string;
  readonly overlap?: "skip" | "wait" | "allow";
  readonly catchUp?: "one" | "none" | "all";
  readonly follow?: true;
  /** The dataset whose new versions fire it, and its quiet period in minutes. */
  readonly trigger?: { readonly by: string; readonly quiet: number };
  readonly runsAs?: typeof serviceAccount;
  readonly pauses?: readonly Span[];
}

/** Actions of people during the month. */
export type Deed =
  /** Somebody runs a newer script of this name by hand; it takes a minute. */
  | { readonly what: "new script"; readonly of: string; readonly by: Person }
  | { readonly what: "refresh"; readonly of: string }
  /** A version that no job created: nothing can be rebuilt from it. */
  | { readonly what: "foreign version"; readonly of: string }
  | { readonly what: "leave"; readonly who: Person; readonly transferTo?: Person }
  | { readonly what: "hand over"; readonly of: string; readonly to: typeof serviceAccount };

export interface Outage extends Span {
  /** No server runs, or the server's disk is nearly full. */
  readonly why: "down" | "full";
}

export interface Listener {
  readonly name: string;
  readonly kind: "webhook" | "slack" | "mail";
  /** Absent: all events. */
  readonly events?: readonly string[];
  /** Job states that the receiver subscribes to. */
  readonly states?: readonly "FAILED"[];
}

export interface Month extends Span {
  readonly schedules: readonly PlannedSchedule[];
  readonly tasks: readonly PlannedTask[];
  readonly deeds: readonly (Deed & { readonly at: Time })[];
  readonly outages: readonly Outage[];
  readonly listeners: readonly Listener[];
  /** Times at which receivers of webhooks answer only with errors. */
  readonly deaf: readonly Span[];
  /** Times at which the wall clock is wrong, by this many days. */
  readonly wrongClock: readonly (Span & { readonly days: number })[];
}

/** One schedule, one week, one outage: the smallest month. */
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

/** A run ends while no server runs, and so does an attempt that is due for a retry: missed ticks are made up. */
export const restart: Month = {
  ...{ from: "10-02T00:00", to: "10-02T12:00" },
  schedules: [
    { name: "ended", by: "lead", cron: "0 * * * *", timezone: "UTC", usual: 50 },
    {
      ...{ name: "retried", by: "lead", cron: "10 * * * *", timezone: "UTC", usual: 30, retries: 1, retryDelay: 5 },
      spells: [{ from: "10-02T03:00", to: "10-02T04:00", attempts: [{ badly: 25 }] }],
    },
  ],
  tasks: [],
  deeds: [],
  outages: [{ from: "10-02T03:20", to: "10-02T05:27", why: "down" }],
  listeners: [{ name: "all", kind: "webhook" }],
  deaf: [],
  wrongClock: [],
};

/** The month of the team: three people, a service account, thirteen schedules and two tasks. */
export const month: Month = {
  from: "10-02T00:00",
  to: "11-02T00:00",
  schedules: [
    {
      ...{ name: "nightly", by: "lead", cron: "30 2 * * *", timezone: "Europe/Berlin", usual: 25 },
      spells: [{ from: "10-05T00:00", to: "10-07T00:00", attempts: [{ badly: 3 }] }],
    },
    // 02:30 does not exist there on the 4th.
    { name: "southern", by: "lead", cron: "30 2 * * *", timezone: "Australia/Sydney", usual: 10, catchUp: "none" },
    // Runs of more than an hour, in parallel.
    {
      ...{ name: "sundays", by: "lead", cron: "15 * 1,18 10,11 *", timezone: "America/New_York", usual: 70 },
      ...{ overlap: "allow", catchUp: "all" },
      spells: [{ from: "10-18T14:00", to: "10-18T16:00", attempts: [{ badly: 20 }] }],
    },
    { name: "handed-over", by: "analyst", cron: "0 6 * * 1,4", timezone: "UTC", usual: 40 },
    { name: "month-end", by: "lead", cron: "0 0 31 * *", timezone: "UTC", usual: 90, overlap: "wait" },
    { name: "follower", by: "lead", cron: "20 4 * * *", timezone: "UTC", usual: 12, follow: true },
    {
      ...{ name: "on-arrival", by: "lead", timezone: "UTC", usual: 20, trigger: { by: "fetch", quiet: 10 } },
      // Longer than the interval to the next version, and to the one after that.
      spells: [
        { from: "10-15T00:00", to: "10-15T12:00", attempts: [{ well: 760 }] },
        { from: "10-28T12:00", to: "10-29T00:00", attempts: [{ badly: 1500 }] },
      ],
    },
    {
      ...{ name: "busy", by: "lead", cron: "*/20 9-10 * * 1-3", timezone: "UTC", usual: 6 },
      spells: [
        { from: "10-06T09:00", to: "10-06T09:10", attempts: [{ well: 50 }] },
        { from: "10-20T09:20", to: "10-20T09:30", attempts: [{ badly: 130 }] },
      ],
    },
    {
      ...{ name: "queued", by: "lead", cron: "0 */2 13,14 * *", timezone: "UTC", usual: 15, overlap: "wait" },
      spells: [{ from: "10-13T02:00", to: "10-13T03:00", attempts: [{ well: 310 }] }],
    },
    {
      ...{ name: "paused", by: "lead", cron: "10 */12 * * *", timezone: "America/New_York", usual: 9 },
      pauses: [{ from: "10-12T11:00", to: "10-19T11:00" }],
    },
    {
      ...{ name: "flaky", by: "lead", cron: "45 5 * * *", timezone: "UTC", usual: 11 },
      ...{ timeout: 30, retries: 2, retryDelay: 2 },
      spells: [
        { from: "10-04T05:00", to: "10-04T06:00", attempts: ["hangs"] },
        { from: "10-09T00:00", to: "10-10T00:00", attempts: [{ badly: 3 }, { badly: 3 }, { badly: 3 }] },
        { from: "10-10T05:00", to: "10-10T06:00", attempts: [{ badly: 5 }, "hangs"] },
        { from: "10-28T00:00", to: "10-28T12:00", attempts: ["hangs", "hangs", "hangs"] },
      ],
    },
    { name: "orphaned", by: "contractor", cron: "0 8 * * *", timezone: "UTC", usual: 16 },
    { name: "nobodys", by: "analyst", cron: "0 22 * * *", timezone: "UTC", usual: 33, runsAs: serviceAccount },
  ],
  tasks: [
    {
      ...{ name: "fetch", by: "analyst", cron: "5 */12 * * *", timezone: "UTC", usual: 4 },
      spells: [{ from: "10-11T00:00", to: "10-11T12:00", attempts: [{ badly: 2 }] }],
    },
    { name: "report", by: "contractor", cron: "0 7 * * *", timezone: "Europe/Berlin", usual: 5 },
  ],
  deeds: [
    // A version during the quiet period: the previous one came at 12:09.
    { at: "10-07T12:14", what: "new script", of: "fetch", by: "lead" },
    { at: "10-08T10:00", what: "new script", of: "follower", by: "lead" },
    { at: "10-12T10:19", what: "new script", of: "busy", by: "lead" },
    { at: "10-12T12:00", what: "new script", of: "nightly", by: "lead" },
    { at: "10-13T12:00", what: "leave", who: "analyst", transferTo: "lead" },
    { at: "10-16T12:00", what: "refresh", of: "nightly" },
    { at: "10-18T20:30", what: "leave", who: "contractor" },
    { at: "10-19T10:00", what: "foreign version", of: "follower" },
    { at: "10-22T10:00", what: "new script", of: "follower", by: "lead" },
    { at: "10-25T12:00", what: "hand over", of: "orphaned", to: serviceAccount },
  ],
  outages: [
    { from: "10-07T09:30", to: "10-07T11:31", why: "down" },
    { from: "10-14T15:10", to: "10-14T16:21", why: "down" },
    { from: "10-17T03:00", to: "10-18T12:02", why: "down" },
    { from: "10-21T08:45", to: "10-21T09:48", why: "full" },
    // Across the daylight saving changes in Berlin and in New York.
    { from: "10-24T23:40", to: "10-25T03:13", why: "down" },
    { from: "11-01T05:40", to: "11-01T07:50", why: "down" },
  ],
  listeners: [
    { name: "all", kind: "webhook" },
    { name: "states", kind: "webhook", states: ["FAILED"] },
    { name: "chat", kind: "slack", events: ["pipeline.failure", "pipeline.recovery"] },
    {
      ...{ name: "lead", kind: "mail" },
      events: ["schedule.skip", "schedule.overdue", "schedule.failure", "schedule.recovery"],
    },
    { name: "analyst", kind: "mail", events: ["pipeline.failure"] },
  ],
  deaf: [{ from: "10-09T05:40", to: "10-09T06:50" }],
  wrongClock: [{ from: "10-12T10:19:50", to: "10-12T10:20:15", days: 400 }],
};
