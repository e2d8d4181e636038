/**
 * The expected result of a planned month, derived only from docs/schedules.md, docs/jobs.md, docs/sign-in.md and
 * docs/notifications.md. Nothing of the product is imported here: if the two differ, one of them is wrong.
 *
 * Times are exact to the minute. A plan in which something depends on less than a minute is refused, because its result
 * would be undefined.
 */
import { expectedTicks, wallsOf } from "../support/expected-ticks.ts";
import {
  type Attempt,
  at,
  type Deed,
  type Listener,
  type Month,
  minute,
  type Outage,
  type PlannedSchedule,
  type PlannedTask,
} from "./plan.ts";
import type { Entry, MonthRecord, Run, TaskRecord, Told } from "./record.ts";

const iso = (time: number) => new Date(time).toISOString();

/** "A tick is on time for a minute." */
const punctual = minute;
/** "for at most the newest 100" */
const mostCaughtUp = 100;

/** An event that should be reported, and its time. */
interface Event extends Omit<Told, "to"> {
  readonly at: number;
}

interface Simulated {
  readonly entries: Entry[];
  readonly events: Event[];
  /** When its runs created versions. */
  readonly versions: number[];
}

/** A run with its course, its end, and the time at which the server noticed the end. */
interface Lived extends Run {
  readonly over: number;
  readonly ended: number;
}

/** The end of a run that is still active when the month is over. */
const unfinished = { end: "RUNNING", attempts: [], until: null } as const;

/** A request for a run: the first tick that it covers, the number of ticks, and the newest tick. */
interface Request {
  readonly tick: number;
  readonly ticks: number;
  readonly moment: number;
}

export function modelOf(month: Month): MonthRecord {
  const tasks = month.tasks.map((task) => ({ task, ...simulateTask(month, task) }));
  const timed = month.schedules.filter(({ trigger }) => !trigger);
  const made = new Map(tasks.map(({ task, versions }) => [task.name, versions]));
  const simulated = timed.map((schedule) => [schedule.name, new ScheduleModel(month, schedule).simulate()] as const);
  for (const [name, { versions }] of simulated) made.set(name, versions);
  const triggered = month.schedules
    .filter(({ trigger }) => trigger)
    .map((schedule) => {
      const by = schedule.trigger?.by ?? "";
      const versions = [...(made.get(by) ?? []), ...madeByHand(month, by)];
      return [schedule.name, new ScheduleModel(month, schedule).simulateTriggered(versions)] as const;
    });
  const all = [...simulated, ...triggered];
  const events = [...tasks.flatMap((task) => task.events), ...all.flatMap(([, { events }]) => events)];
  return {
    schedules: Object.fromEntries(all.map(([name, { entries }]) => [name, entries])),
    tasks: Object.fromEntries(tasks.map(({ task, record }) => [task.name, record])),
    told: toldTo(month, events),
  };
}

/** A script that somebody runs by hand takes a minute and creates a version. */
const madeByHand = ({ deeds }: Month, name: string): number[] =>
  deeds.flatMap((deed) => (deed.what === "new script" && deed.of === name ? [at(deed.at) + minute] : []));

/** Which receivers get which events: "A webhook without events and states receives all eight events." */
function toldTo({ listeners }: Month, events: readonly Event[]): Told[] {
  return listeners.flatMap((listener) =>
    events.filter((event) => hears(listener, event)).map(({ at: _, ...told }) => ({ ...told, to: listener.name })),
  );
}

function hears({ events, states = [] }: Listener, { event, state }: Event): boolean {
  if (event !== null && (events ? events.includes(event) : states.length === 0)) return true;
  return state !== undefined && (states as readonly string[]).includes(state);
}

/** When a server handles what is due: at once, or when it runs again and, for a start, has disk space. */
function whenActed({ outages }: Month, time: number, why: readonly Outage["why"][] = ["down", "full"]): number {
  const outage = outages.find(({ from, to, why: kind }) => why.includes(kind) && at(from) <= time && time < at(to));
  return outage ? whenActed({ outages } as Month, at(outage.to), why) : time;
}

const whenNoticed = (month: Month, time: number) => whenActed(month, time, ["down"]);

/** Returns the user as whom a schedule or task runs at this time, and whether that user has left. */
function ownerAt(
  { deeds }: Month,
  { name, by, runsAs }: PlannedSchedule | (PlannedTask & { runsAs?: undefined }),
  time: number,
) {
  let owner: string = runsAs ?? by;
  const gone = new Set<string>();
  for (const deed of deeds.filter((one) => at(one.at) <= time)) {
    if (deed.what === "leave") gone.add(deed.who);
    if (deed.what === "leave" && deed.transferTo && owner === deed.who) owner = deed.transferTo;
    if (deed.what === "hand over" && deed.of === name) owner = deed.to;
  }
  return { owner, isGone: gone.has(owner) };
}

/** The attempts of one run, from its start to its end. */
function live(
  month: Month,
  runs: PlannedSchedule | PlannedTask,
  begun: number,
  moment: number,
): Omit<Lived, "moment" | "as" | "script"> {
  const { usual, spells = [], timeout = 0, retries = 0, retryDelay = 0 } = runs;
  const spell = spells.find(({ from, to }) => at(from) <= moment && moment < at(to));
  const attempts: Run["attempts"][number][] = [];
  for (let begins = begun; ; ) {
    const attempt: Attempt = spell?.attempts[attempts.length] ?? { well: usual };
    const takes = attempt === "hangs" ? timeout : "well" in attempt ? attempt.well : attempt.badly;
    if (takes === 0 || (timeout > 0 && takes > timeout)) throw new Error(`${runs.name} would not end as planned`);
    const over = begins + takes * minute;
    const times = { over, ended: whenNoticed(month, over), until: iso(over) };
    attempts.push(attempt === "hangs" ? "timed out" : "well" in attempt ? "succeeded" : "failed");
    if (attempts.at(-1) === "succeeded") return { attempts, ...times, end: "COMPLETED" };
    if (attempts.length > retries) return { attempts, ...times, end: "FAILED" };
    // "the delay doubles for each further retry"
    begins = whenActed(month, times.ended + retryDelay * 2 ** (attempts.length - 1) * minute);
  }
}

/** A recovery is reported: a success after a failure. */
class Ends {
  readonly events: Event[] = [];
  readonly #kind: "job" | "pipeline";
  readonly #of: string;

  constructor(kind: "job" | "pipeline", of: string) {
    this.#kind = kind;
    this.#of = of;
  }

  tell(runs: readonly Lived[], until: number): void {
    let failing = false;
    let last = { ended: 0, end: "" };
    for (const { end, ended, moment, attempts } of [...runs].sort((a, b) => a.ended - b.ended)) {
      if (ended >= until) continue;
      if (ended - last.ended < 2 * minute && end !== last.end)
        throw new Error(`${this.#of}: two ends at ${iso(ended)}`);
      last = { ended, end };
      const about = { of: this.#of, moment, at: ended };
      const event = end === "FAILED" ? "failure" : failing ? "recovery" : undefined;
      failing = end === "FAILED";
      // A pipeline's job is reported by its state only; one that could not start has no job.
      if (this.#kind === "pipeline" && end === "FAILED" && attempts.length > 0)
        this.events.push({ ...about, event: null, state: "FAILED" });
      const state = this.#kind === "job" && end === "FAILED" ? { state: "FAILED" as const } : {};
      if (event) this.events.push({ ...about, event: `${this.#kind}.${event}`, ...state });
    }
  }
}

/** The calendar date of a time in a time zone. */
const dateIn = (timeZone: string, time: number) => new Intl.DateTimeFormat("en-CA", { timeZone }).format(time);

class ScheduleModel {
  readonly #month: Month;
  readonly #schedule: PlannedSchedule;
  readonly #until: number;
  readonly #entries: Entry[] = [];
  readonly #events: Event[] = [];
  readonly #runs: Lived[] = [];
  #waiting: Request | undefined;
  #failing = false;
  /** Whether a tick was skipped since the last run started, and the date of the last reported skip. */
  #hasSkipped = false;
  #skipToldOn: string | undefined;

  constructor(month: Month, schedule: PlannedSchedule) {
    this.#month = month;
    this.#schedule = schedule;
    this.#until = at(month.to);
  }

  simulate(): Simulated {
    for (const [when, ticks] of this.#looks()) {
      this.#fireWaiting(when);
      for (const request of this.#requests(ticks, when)) this.#tick(request, when);
    }
    this.#fireWaiting(this.#until);
    this.#tellOverdue();
    return this.#result();
  }

  /**
   * "The schedule fires once for all new versions, after the dataset has had no further version for `quiet_seconds`."
   */
  simulateTriggered(versions: readonly number[]): Simulated {
    const quiet = (this.#schedule.trigger?.quiet ?? 0) * minute;
    const rest = [...versions].sort((a, b) => a - b);
    for (let version = rest.shift(); version !== undefined; version = rest.shift()) {
      for (;;) {
        const due = version + quiet;
        // "While the last run is still active, new versions wait for its end, however many there are, and then fire
        // once"
        const when = whenActed(this.#month, Math.max(due, this.#runs.at(-1)?.ended ?? 0));
        const next = rest[0];
        if (next !== undefined) this.#clear(next, when);
        if (next === undefined || next > when) {
          if (when < this.#until) this.#fire({ tick: due, ticks: 1, moment: due }, when);
          break;
        }
        version = rest.shift() as number;
      }
    }
    return this.#result();
  }

  #result(): Simulated {
    const ends = new Ends("pipeline", this.#schedule.name);
    ends.tell(this.#runs, this.#until);
    const versions = this.#runs.filter(({ end }) => end === "COMPLETED").map(({ ended }) => ended);
    return { entries: this.#entries, events: [...this.#events, ...ends.events], versions };
  }

  #isPaused(time: number): boolean {
    return (this.#schedule.pauses ?? []).some(({ from, to }) => at(from) <= time && time < at(to));
  }

  #ticks(): number[] {
    const { cron = "", timezone } = this.#schedule;
    const [from, to] = [at(this.#month.from), this.#until];
    // "Ticks during the pause are not made up."
    return expectedTicks(cron, wallsOf(timezone, from, to)).filter((tick) => !this.#isPaused(tick));
  }

  /** When a server handles which ticks. */
  #looks(): [number, number[]][] {
    const looks = new Map<number, number[]>();
    for (const tick of this.#ticks()) {
      const when = whenActed(this.#month, tick);
      if (when < this.#until) looks.set(when, [...(looks.get(when) ?? []), tick]);
    }
    return [...looks];
  }

  /** The outcome of ticks that are handled now, before `overlap` applies. */
  #requests(ticks: readonly number[], when: number): Request[] {
    const [first = 0] = ticks;
    const last = ticks.at(-1) ?? 0;
    if (when === first) return [{ tick: first, ticks: 1, moment: first }];
    if (when - last < 2 * punctual) throw new Error(`${this.#schedule.name}: an outage ends too close to ${iso(last)}`);
    const { catchUp = "one" } = this.#schedule;
    if (catchUp === "one") return [{ tick: first, ticks: ticks.length, moment: last }];
    if (catchUp === "all") {
      if (ticks.length > mostCaughtUp) throw new Error("an outage of more than 100 ticks is not modelled");
      return ticks.map((tick) => ({ tick, ticks: 1, moment: tick }));
    }
    this.#drop({ tick: first, ticks: ticks.length }, when, "missed", "not in time");
    return [];
  }

  #tick(request: Request, when: number): void {
    const { overlap = "skip" } = this.#schedule;
    const isGoing = this.#isGoing(when);
    if (overlap === "wait" && this.#waiting) this.#drop(request, when, "skipped", "one waits already");
    else if (overlap === "wait" && isGoing) this.#waiting = request;
    else if (overlap === "skip" && isGoing) this.#drop(request, when, "skipped", "the last run is still going");
    else this.#fire(request, when);
  }

  #isGoing(when: number): boolean {
    // "A run that ended while no server ran counts as ended": when that is noticed does not matter.
    const over = this.#runs.at(-1)?.over ?? 0;
    if (this.#schedule.overlap !== "allow") this.#clear(over, when);
    return over > when;
  }

  /** Refuses two events in the same minute, because their order is undefined. */
  #clear(one: number, other: number): void {
    if (Math.abs(one - other) < 2 * minute)
      throw new Error(`${this.#schedule.name}: ${iso(one)} and ${iso(other)} are too close`);
  }

  #drop({ tick, ticks }: Omit<Request, "moment">, when: number, outcome: "skipped" | "missed", why: string): void {
    this.#entries.push({ tick: iso(tick), ticks, outcome, why, run: null });
    // "Millrace reports the first skip of a series and, while the series lasts, the first skip of each further day."
    this.#hasSkipped = true;
    const date = dateIn(this.#schedule.timezone, tick);
    if (date === this.#skipToldOn) return;
    this.#skipToldOn = date;
    this.#events.push({ event: "schedule.skip", of: this.#schedule.name, moment: iso(tick), at: when });
  }

  /**
   * "A series ends when two consecutive runs have started without a skip between them and the second did not have to
   * wait"
   */
  #endSkips(hadWaited: boolean): void {
    if (!this.#hasSkipped && !hadWaited) this.#skipToldOn = undefined;
    this.#hasSkipped = false;
  }

  /** "the tick fires when that run has ended" */
  #fireWaiting(before: number): void {
    const when = whenActed(this.#month, this.#runs.at(-1)?.ended ?? 0);
    if (!this.#waiting || when >= before) return;
    const request = this.#waiting;
    this.#waiting = undefined;
    this.#fire(request, when, true);
  }

  #fire({ tick, ticks, moment }: Request, when: number, hadWaited = false): void {
    const { name, follow } = this.#schedule;
    const about = { of: name, moment: iso(when), at: when };
    if (follow && this.#newest(when) === undefined) {
      // "sent once while the reason stays the same"
      if (!this.#failing) this.#events.push({ ...about, event: "schedule.failure" });
      this.#failing = true;
      this.#entries.push({
        tick: iso(tick),
        ticks: 1,
        outcome: "failed",
        why: "the newest scripts cannot be run",
        run: null,
      });
      return;
    }
    this.#endSkips(hadWaited);
    if (this.#failing) this.#events.push({ ...about, event: "schedule.recovery" });
    this.#failing = false;
    const { owner, isGone } = ownerAt(this.#month, this.#schedule, when);
    const run: Lived = isGone
      ? {
          moment: iso(moment),
          as: null,
          script: null,
          attempts: [],
          end: "FAILED",
          until: null,
          over: when,
          ended: when,
        }
      : {
          moment: iso(moment),
          as: owner,
          script: this.#script(when),
          ...live(this.#month, this.#schedule, when, moment),
        };
    this.#runs.push(run);
    const { over: _, ended, ...shown } = run;
    const kept = ended < this.#until ? shown : { ...shown, ...unfinished };
    const outcome = isGone ? "failed" : "fired";
    this.#entries.push({ tick: iso(tick), ticks, outcome, why: isGone ? "its owner is gone" : null, run: kept });
  }

  /** Which script it runs: the one it was created with, or a newer one since. */
  #script(when: number): string {
    const { name, follow } = this.#schedule;
    if (follow) return this.#newest(when) as string;
    const refreshed = this.#deeds("refresh", when).at(-1);
    return refreshed ? (this.#newest(at(refreshed.at)) as string) : `${name} 1`;
  }

  /** The newest script of the dataset; undefined if its newest version belongs to no job. */
  #newest(when: number): string | undefined {
    const made = this.#deeds("new script", when - minute);
    const foreign = this.#deeds("foreign version", when).at(-1);
    if (foreign && (made.at(-1)?.at ?? "") < foreign.at) return undefined;
    return `${this.#schedule.name} ${made.length + 1}`;
  }

  #deeds(what: Deed["what"], until: number) {
    const { name } = this.#schedule;
    return this.#month.deeds.filter(
      (deed) => deed.what === what && "of" in deed && deed.of === name && at(deed.at) <= until,
    );
  }

  /** "was due more than a minute ago, and nothing fired": while a server runs that does not fire. */
  #tellOverdue(): void {
    const ticks = this.#ticks();
    for (const { from, to, why } of this.#month.outages) {
      const tick = ticks.find((one) => at(from) <= one && one < at(to));
      if (why === "down" || tick === undefined) continue;
      if (at(to) - tick < 3 * minute) throw new Error(`${this.#schedule.name}: too late to be overdue`);
      this.#events.push({ event: "schedule.overdue", of: this.#schedule.name, moment: iso(tick), at: tick });
    }
  }
}

function simulateTask(month: Month, task: PlannedTask): { record: TaskRecord; events: Event[]; versions: number[] } {
  const until = at(month.to);
  const looks = new Map<number, number>();
  // "After an outage the task fires once, however many ticks it missed."
  for (const tick of expectedTicks(task.cron, wallsOf(task.timezone, at(month.from), until)))
    looks.set(whenActed(month, tick), tick);
  const runs: Lived[] = [];
  let skipped = 0;
  for (const [when, tick] of looks) {
    if (when >= until) continue;
    const { owner, isGone } = ownerAt(month, task, when);
    if (isGone) skipped++;
    else runs.push({ moment: iso(tick), as: owner, script: `${task.name} 1`, ...live(month, task, when, tick) });
  }
  const ends = new Ends("job", task.name);
  ends.tell(runs, until);
  const { isGone } = ownerAt(month, task, until);
  const shown = runs.map(({ over: _, ended, ...run }) => (ended < until ? run : { ...run, ...unfinished }));
  const versions = runs.filter(({ end }) => end === "COMPLETED").map(({ ended }) => ended);
  return { record: { runs: shown, skipped, why: isGone ? "its owner is gone" : null }, events: ends.events, versions };
}
