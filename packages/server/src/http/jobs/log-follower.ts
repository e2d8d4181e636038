/** A WebSocket client that follows a job, and gets frames while it is connected. */
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

  /** Aborted when the client has disconnected or is closing its connection. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  send(frame: LogFrame): Promise<void> {
    return this.sendText(Buffer.from(JSON.stringify(frame)));
  }

  /** Resolves when the frame was sent, or can no longer be sent. */
  sendText(text: Buffer): Promise<void> {
    return new Promise((resolve) =>
      this.#client.send(text, { binary: false }, (error) => {
        if (error) this.#gone.abort();
        resolve();
      }),
    );
  }
}
