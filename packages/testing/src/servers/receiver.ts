/** A real HTTP server that receives webhooks and records them. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { closedAtEnd } from "./left-open.ts";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Returns the HTTP status to answer with; undefined if the function answers itself, or if there is no answer. */
type Answer = (got: Received, response: ServerResponse) => number | undefined;

export class Receiver {
  readonly received: Received[] = [];
  answer: Answer = () => 204;
  connections = 0;
  readonly #server: Server;

  static async start(
    tls?: { readonly key: string; readonly cert: string },
    { host = "127.0.0.1", port = 0 } = {},
  ): Promise<Receiver> {
    const receiver = new Receiver(tls);
    receiver.#server.listen(port, host);
    await once(receiver.#server, "listening");
    return receiver;
  }

  private constructor(tls: { readonly key: string; readonly cert: string } | undefined) {
    const take: RequestListener = async (request, response) => {
      const chunks: Buffer[] = [];
      request.on("error", () => {});
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = "", url: path = "", headers } = request;
      const got = { method, path, headers, body: Buffer.concat(chunks).toString("utf8") };
      const status = this.answer(got, response);
      // Record the request before the answer is sent, so that the test finds every acknowledged request.
      this.received.push(got);
      if (status !== undefined) response.writeHead(status).end();
    };
    this.#server = tls ? createTlsServer(tls, take) : createServer(take);
    this.#server.on("connection", () => this.connections++);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = "/hook", scheme = "http"): string {
    return `${scheme}://127.0.0.1:${this.port}${path}`;
  }

  /** Returns the parsed JSON bodies of all requests to this path. */
  told(path = "/hook"): Record<string, unknown>[] {
    return this.received
      .filter((got) => got.path === path)
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  }

  /** Waits until `isEnough` returns true for the received requests. Throws after `seconds`, so that no test hangs. */
  async wait(isEnough: (received: readonly Received[]) => boolean, seconds = 60): Promise<void> {
    for (const deadline = Date.now() + seconds * 1000; !isEnough(this.received); ) {
      if (Date.now() > deadline)
        throw new Error(
          `the expected requests did not arrive within ${seconds} s; received only ${JSON.stringify(this.received.map(({ body }) => body))}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  readonly stop = closedAtEnd(async () => {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  });
}
