/** Runs the checks of `millrace doctor` inside the server, one at a time: they start programs, and take seconds. */
import type { RouteOutput, routes } from "@millrace/contract";
import type { SystemContext } from "../requests/context.ts";

type Answer = RouteOutput<typeof routes.getDoctor>;

/** Milliseconds for which the findings are reused. */
const keep = 10_000;

export class Doctor {
  readonly #context: SystemContext;
  #last: Promise<Answer> | undefined;
  #asked = Number.NEGATIVE_INFINITY;

  constructor(context: SystemContext) {
    this.#context = context;
  }

  check(): Promise<Answer> {
    const now = this.#context.clock.monotonic();
    if (!this.#last || now - this.#asked >= keep) {
      this.#asked = now;
      this.#last = this.#run();
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
