/**
 * Decides whether a loop may fire ticks by the wall clock now. To decide this, it tracks the latest time that has
 * certainly passed. Ticks up to that time do not fire again.
 */
import { day, iso } from "../domain/time/clock.ts";
import { ClockWatch } from "../domain/time/clock-watch.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { advanceClockMark, readClockMark, writeClockMark } from "../store/queries/schedules/clock-marks.ts";
import { mostAheadMs } from "./clock-care.ts";

const hour = 3_600_000;

export type ClockContext = Pick<ExecutionContext, "store" | "clock" | "log">;

/**
 * Makes a loop wait in two cases: right after the wall clock was set, and while the wall clock is behind the latest
 * time that has certainly passed. While the wall clock is trusted, that time is read from the wall clock. Otherwise
 * that time advances with the monotonic clock. It is stored before ticks fire.
 */
export class ClockAdvice {
  readonly #context: ClockContext;
  readonly #watch: ClockWatch;
  #mended = { steps: -1, at: Number.NEGATIVE_INFINITY };
  /** The newest trusted wall-clock time, and the monotonic time at which it was read. */
  #believed: { readonly wall: number; readonly at: number } | undefined;
  #isBelieved = false;
  /** The trusted time in the store (the clock mark), as this process last read or wrote it, in Unix milliseconds. */
  #stored = Number.NEGATIVE_INFINITY;
  #isBehind = false;

  constructor(context: ClockContext) {
    this.#context = context;
    this.#watch = new ClockWatch(context.clock);
  }

  /**
   * Returns false if the loop must wait. If the result is true, the caller must read the time before its next await,
   * because the clock may be set during an await. At the start, after each clock step and every hour, `mend` is called
   * first to correct times that a wrong clock may have stored. `mend` gets the current time or the latest time that has
   * certainly passed, whichever is later.
   */
  async mayAct(mend: (now: number) => Promise<void> = async () => {}): Promise<boolean> {
    const { clock } = this.#context;
    const { steps, steadyFor, isSettled } = this.#watch.look();
    if (!isSettled) return false;
    const at = clock.monotonic();
    const isDoubtful = steps !== this.#mended.steps || at - this.#mended.at >= hour;
    if (isDoubtful) await this.#read();
    const ahead = this.#believe(steadyFor);
    this.#tell(!this.#isBelieved && ahead < 0, ahead);
    if (this.#isBehind) return false;
    if (this.#isBelieved && Math.abs(clock.now() - this.#stored) >= hour) await this.#write();
    if (isDoubtful) {
      await mend(Math.max(clock.now(), this.#been() ?? 0));
      this.#mended = { steps, at };
    }
    // The wall clock may have been set while the store was answering.
    return this.#watch.look().steps === steps;
  }

  /**
   * Stores the trusted time (the clock mark). Called before ticks fire, so that they do not fire again after a crash.
   * `tick` is the time of the newest of these ticks. Does nothing while the wall clock is not trusted.
   */
  async note(tick: string): Promise<void> {
    if (this.#isBelieved && Date.parse(tick) > this.#stored) await this.#write();
  }

  /**
   * Returns the latest time that has certainly passed, in milliseconds since the epoch; undefined before the first
   * reading.
   */
  #been(): number | undefined {
    return this.#believed && this.#believed.wall + this.#context.clock.monotonic() - this.#believed.at;
  }

  /**
   * Decides whether the wall clock is trusted. The wall clock is compared with the latest time that has certainly
   * passed. If the two differ by at most an hour, the clock is trusted at once. If the clock is ahead by less than a
   * week, it is trusted once it has been steady for an hour. Otherwise it must be steady for a day. Returns how many
   * milliseconds the wall clock is ahead.
   */
  #believe(steadyFor: number): number {
    const { clock } = this.#context;
    const now = clock.now();
    const been = this.#been() ?? now;
    const ahead = now - been;
    const needed = Math.abs(ahead) <= hour ? 0 : ahead > 0 && ahead < mostAheadMs ? hour : day;
    this.#isBelieved = steadyFor >= needed;
    const wall = steadyFor >= day ? now : Math.max(now, been);
    if (this.#isBelieved) this.#believed = { wall, at: clock.monotonic() };
    return ahead;
  }

  async #read(): Promise<void> {
    const { store, clock } = this.#context;
    const mark = await readClockMark(store.db, "fired");
    if (mark === undefined) return;
    this.#stored = Date.parse(mark);
    if (this.#stored > (this.#been() ?? Number.NEGATIVE_INFINITY))
      this.#believed = { wall: this.#stored, at: clock.monotonic() };
  }

  /**
   * Stores the trusted time. It is advanced by the monotonic clock, because the wall clock may have been set since the
   * trusted time was read. The stored time moves back only if the wall clock is behind it and has become trusted.
   */
  async #write(): Promise<void> {
    const { store, clock } = this.#context;
    const now = this.#been() ?? clock.now();
    const write = now < this.#stored - hour ? writeClockMark : advanceClockMark;
    await store.write((db) => write(db, "fired", iso(now)));
    this.#stored = now;
  }

  #tell(isBehind: boolean, ahead: number): void {
    const { log, clock } = this.#context;
    if (isBehind && !this.#isBehind)
      log.warn(
        { clock: iso(clock.now()), has_been: iso(clock.now() - ahead) },
        "the wall clock (clock) is behind the latest time that it has shown (has_been), so schedules and tasks wait: correct the clock; if nobody does, the server trusts the clock after a day",
      );
    this.#isBehind = isBehind;
  }
}
