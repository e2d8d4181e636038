/** Runs the checks of `millrace doctor` inside the server, one at a time: they start programs, and take seconds. */
import type { RouteOutput, routes } from "@millrace/contract";
import type { SystemContext } from "../requests/context.ts";

type Answer = RouteOutput<typeof routes.getDoctor>;

/** Milliseconds for which the findings are reused. */
const keep = 10_000;

export class Doctor {
  readonly #context: SystemContext;
  #last: Promise<Answer> | undefined;
  /** When the last check ended. */
  #ended = Number.NEGATIVE_INFINITY;
  #isRunning = false;

  constructor(context: SystemContext) {
    this.#context = context;
  }

  check(): Promise<Answer> {
    const isOld = this.#context.clock.monotonic() - this.#ended >= keep;
    if (!this.#last || (isOld && !this.#isRunning)) {
      this.#isRunning = true;
      this.#last = this.#run().finally(() => {
        this.#isRunning = false;
        this.#ended = this.#context.clock.monotonic();
      });
      this.#last.catch(() => {
        this.#last = undefined;
      });
    }
    return this.#last;
  }

  async #run(): Promise<Answer> {
    const findings = await this.#context.diagnose();
    return { checked_at: new Date(this.#context.clock.now()).toISOString(), findings };
  }
}
