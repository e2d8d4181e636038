/** Pauses of random length, repeated by their seed: a soak that failed can be run again. */
import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "@millrace/testing/random.ts";

export class Moments extends Random {
  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  pause(from: number, to: number): Promise<void> {
    return sleep(this.between(from, to));
  }
}
