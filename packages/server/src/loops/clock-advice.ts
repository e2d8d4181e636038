/** Whether a loop may act by the wall clock now, and which time has been for sure: no tick up to it fires again. */
import { day, iso } from "../domain/time/clock.ts";
import { ClockWatch } from "../domain/time/clock-watch.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { advanceClockMark, readClockMark, writeClockMark } from "../store/queries/schedules/clock-marks.ts";
import { mostAheadMs } from "./clock-care.ts";

const hour = 3_600_000;

export type ClockContext = Pick<ExecutionContext, "store" | "clock" | "log">;

/**
 * Waits while the clock has just been set, and while it is behind a time that has been. That time goes on with the clock
 * that nobody sets, is in the store before a tick of it fires, and follows the wall clock only where that is believed.
 */
export class ClockAdvice {
  readonly #context: ClockContext;
  readonly #watch: ClockWatch;
  #mended = { steps: -1, at: Number.NEGATIVE_INFINITY };
  /** The newest time that was believed, and when that was by the clock that nobody sets. */
  #believed: { readonly wall: number; readonly at: number } | undefined;
  #isBelieved = false;
  /** The mark in the store, as far as is known here. */
  #stored = Number.NEGATIVE_INFINITY;
  #isBehind = false;

  constructor(context: ClockContext) {
    this.#context = context;
    this.#watch = new ClockWatch(context.clock);
  }

  /**
   * False: not now. Else the caller takes the time at once, before it waits for anything. Times that a wrong clock wrote may be there at the start, after every step, and every hour, since
   * another server may have written them: then `mend` comes first. It gets the time now, which is never one that has been.
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
    // The store may have let us wait, and the clock may have been set meanwhile.
    return this.#watch.look().steps === steps;
  }

  /** Before ticks fire, the newest of which is this one. What a clock fires that is not believed does not count. */
  async note(tick: string): Promise<void> {
    if (this.#isBelieved && Date.parse(tick) > this.#stored) await this.#write();
  }

  /** The time that has been for sure, by now. */
  #been(): number | undefined {
    return this.#believed && this.#believed.wall + this.#context.clock.monotonic() - this.#believed.at;
  }

  /**
   * A clock that goes on from the time that has been is believed, give or take an hour. One that is ahead, as after an
   * outage, is believed after an hour; one that is far ahead, or behind, after a day. Returns how far it is ahead.
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
   * By the time that was believed, gone on since: the clock may have been set after that. Back only by a clock that is
   * believed although it is behind.
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
        "the clock is behind a time that has been: set it right; as it is, it is believed after a day",
      );
    this.#isBehind = isBehind;
  }
}
