/** Plays a planned month: time advances to the next moment at which something is due, and servers work or die. */

import type { MailServer } from "@millrace/testing/servers/mail-server.ts";
import type { Received, Receiver } from "@millrace/testing/servers/receiver.ts";
import type { KeyRing } from "../../src/domain/secrets/key-ring.ts";
import type { Clock } from "../../src/domain/time/clock.ts";
import type { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { type Ground, MonthServer } from "./month-server.ts";
import { at, type Month, minute, type Span, type Time } from "./plan.ts";
import { PlayedEngine } from "./played-engine.ts";
import { StoreRecord } from "./store-record.ts";
import { MonthTeam } from "./team.ts";

interface Surroundings {
  readonly store: Store;
  readonly dataDir: string;
  readonly keys: KeyRing;
  readonly metrics: ServerMetrics;
  readonly receiver: Receiver;
  readonly mail: MailServer;
}

const day = 24 * 60 * minute;
/** The longest interval between two rounds. */
const longest = 3 * 60 * minute;
const isIn = (time: number, { from, to }: Span) => at(from) <= time && time < at(to);
/** More than any disk has. */
const noRoom = Number.MAX_SAFE_INTEGER;

export class Player {
  readonly engine: PlayedEngine;
  readonly record: StoreRecord;
  /** Webhook requests that were answered with an error. */
  readonly refused = new Set<Received>();
  kills = 0;
  steps = 0;
  #now: number;
  readonly #month: Month;
  readonly #surroundings: Surroundings;
  readonly #ground: Ground;
  readonly #team: MonthTeam;
  readonly #chance: () => boolean;
  readonly #deeds: { readonly at: Time; do(): Promise<unknown> }[];
  #server: MonthServer | undefined;
  #floor = 0;
  #looksAgain = 0;

  /** `chance`: whether a server dies now. */
  constructor(month: Month, surroundings: Surroundings, chance: () => boolean) {
    this.#month = month;
    this.#surroundings = surroundings;
    this.#now = at(month.from) - 10 * minute;
    this.#chance = () => this.#mayDie() && chance();
    const clock: Clock = { now: () => this.#now + this.#wrong(), monotonic: () => this.#now };
    this.engine = new PlayedEngine(month, () => this.#now);
    const { receiver: _, mail, ...rest } = surroundings;
    this.#ground = { ...rest, clock, engine: this.engine, smtpUrl: mail.url };
    this.#team = new MonthTeam(this.#ground);
    this.record = new StoreRecord(surroundings.store);
    this.#deeds = this.#allDeeds().sort((a, b) => at(a.at) - at(b.at));
  }

  #allDeeds() {
    const { schedules, deeds } = this.#month;
    const pauses = schedules.flatMap(({ name, pauses = [] }) =>
      pauses.flatMap(({ from, to }) => [
        { at: from, do: () => this.#team.pause(name, true) },
        { at: to, do: () => this.#team.pause(name, false) },
      ]),
    );
    const others = deeds.map((deed) => ({ at: deed.at, do: () => this.#team.do(deed, (name) => this.#runs(name)) }));
    return [...pauses, ...others];
  }

  /**
   * A server that starts while the clock is wrong has no earlier time to compare with: docs/schedules.md says what then
   * holds.
   */
  #mayDie(): boolean {
    return !this.#month.wrongClock.some(({ from, to }) => at(from) <= this.#now && this.#now < at(to) + minute);
  }

  #wrong(): number {
    return (this.#month.wrongClock.find((span) => isIn(this.#now, span))?.days ?? 0) * day;
  }

  async play(): Promise<void> {
    await this.#prepare();
    const end = at(this.#month.to);
    for (this.#now = at(this.#month.from); this.#now < end; this.#now = Math.min(end, await this.#next())) {
      this.steps++;
      await this.#step();
    }
    await this.#drain();
  }

  /** Everybody runs their scripts once, and creates schedules and tasks from them. */
  async #prepare(): Promise<void> {
    const { schedules, tasks, listeners, from } = this.#month;
    await this.#work();
    await this.#team.gather();
    for (const runs of [...schedules, ...tasks]) await this.#team.runScript(runs, runs.by);
    await this.#work();
    this.#now = at(from) - 5 * minute;
    this.engine.next();
    await this.#work();
    this.#now = at(from) - minute;
    for (const listener of listeners)
      await this.#team.listen(listener, (path) => this.#surroundings.receiver.url(path));
    for (const task of tasks) await this.#team.addTask(task);
    for (const schedule of schedules) await this.#team.addSchedule(schedule);
    await this.#work();
  }

  async #step(): Promise<void> {
    const { receiver } = this.#surroundings;
    const isDeaf = this.#month.deaf.some((span) => isIn(this.#now, span));
    receiver.answer = (got) => {
      if (isDeaf) this.refused.add(got);
      return isDeaf ? 503 : 204;
    };
    this.engine.next();
    await this.#work();
    while (at(this.#deeds[0]?.at ?? this.#month.to) <= this.#now) {
      const deed = this.#deeds.shift();
      if (!deed) break;
      if (!this.#server) throw new Error(`no server takes the deed of ${deed.at}`);
      await deed.do();
      await this.#work();
    }
    await this.record.follow();
  }

  #runs(name: string) {
    const found = [...this.#month.schedules, ...this.#month.tasks].find((one) => one.name === name);
    if (!found) throw new Error(`there is no ${name} in the plan`);
    return found;
  }

  /** The current server does what is due; a server that dies is replaced by the next. */
  async #work(): Promise<void> {
    const outage = this.#month.outages.find((span) => isIn(this.#now, span));
    const floor = outage?.why === "full" ? noRoom : 0;
    // The server is down without a clean stop: it never finished the work in progress.
    if (outage?.why === "down" || floor !== this.#floor) this.#server = undefined;
    this.#floor = floor;
    if (outage?.why === "down") return;
    for (;;) {
      this.#server ??= await MonthServer.start(this.#ground, floor, this.#chance);
      await this.#server.work();
      if (!this.#server.isDead) return;
      this.kills++;
      this.#server = undefined;
      // A start takes a moment, during which time passes; then the server resumes the work of the dead one.
      this.#now += 2000;
      this.#looksAgain = this.#now + 31_000;
    }
  }

  /** Delivers the waiting events after the end of the month; nothing else happens any more. */
  async #drain(): Promise<void> {
    for (;;) {
      this.#server ??= await MonthServer.start(this.#ground, 0, () => false);
      await this.#server.deliver();
      const next = await this.record.nextDelivery(this.#now);
      if (next === undefined) return;
      this.#now = next;
    }
  }

  /** The next time at which something is due, by the plan, the engine or the store. */
  async #next(): Promise<number> {
    const { outages, deaf, wrongClock } = this.#month;
    const planned = [...outages, ...deaf, ...wrongClock].flatMap(({ from, to }) => [at(from), at(to)]);
    const isFull = outages.some((span) => span.why === "full" && isIn(this.#now, span));
    const times = [
      ...planned,
      ...this.#deeds.slice(0, 1).map((deed) => at(deed.at)),
      this.#looksAgain,
      this.engine.next(),
      ...(await this.record.dueTimes(this.#now, (key) => this.engine.all.find((run) => run.key === key)?.begun)),
      this.#now + (this.#mayDie() ? (isFull ? 31_000 : longest) : 10_000),
    ];
    return Math.min(...times.filter((time) => time > this.#now));
  }
}
