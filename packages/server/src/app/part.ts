/** The parts of a running server. They start one after another and stop in reverse order. */

export interface Part<Given = void> {
  /**
   * Starts the part. Returns what later parts need from it. If the start fails, it releases everything that it has
   * opened.
   */
  start(): Promise<Given>;
  stop(): Promise<void>;
}

/** Returns a part that calls `open` when it starts and `close` when it stops. */
export function opened<Given>(open: () => Promise<Given>, close: (given: Given) => unknown): Part<Given> {
  let given: Given;
  return {
    async start() {
      given = await open();
      return given;
    },
    async stop() {
      await close(given);
    },
  };
}

export class StartedParts {
  readonly #parts: Part<unknown>[] = [];

  async start<Given>(part: Part<Given>): Promise<Given> {
    const given = await part.start();
    this.#parts.push(part);
    return given;
  }

  /** Stops all started parts, the last one first. */
  async stop(): Promise<void> {
    for (const part of this.#parts.splice(0).reverse()) await part.stop();
  }
}
