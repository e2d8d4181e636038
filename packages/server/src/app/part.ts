/** The parts of a running server: they start one after another, and stop in reverse. */

export interface Part<Given = void> {
  /** Resolves with what this part gives to the parts after it. A start that fails leaves nothing behind. */
  start(): Promise<Given>;
  stop(): Promise<void>;
}

/** A part that is opened at its start and closed at its stop. */
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

  /** Stops the part that started last first. */
  async stop(): Promise<void> {
    for (const part of this.#parts.splice(0).reverse()) await part.stop();
  }
}
