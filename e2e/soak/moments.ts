/** Pauses of random length, reproducible by their seed, so that a failed soak can be repeated. */
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
