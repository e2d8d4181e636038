/** One that follows a job: it is sent frames while it is there. */
import type { LogFrame } from "@millrace/contract";
import type { WebSocket } from "ws";

export class Follower {
  readonly #client: WebSocket;
  readonly #gone = new AbortController();

  constructor(client: WebSocket) {
    this.#client = client;
    client.on("close", () => this.#gone.abort());
    client.on("error", () => client.terminate());
  }

  /** Aborted when it has gone, or is closing its connection: nothing reaches it then. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  send(frame: LogFrame): Promise<void> {
    return this.sendText(Buffer.from(JSON.stringify(frame)));
  }

  /** Resolves when the frame has left, or can no longer. */
  sendText(text: Buffer): Promise<void> {
    return new Promise((resolve) =>
      this.#client.send(text, { binary: false }, (error) => {
        if (error) this.#gone.abort();
        resolve();
      }),
    );
  }
}
