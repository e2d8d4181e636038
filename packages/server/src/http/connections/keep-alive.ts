/** Checks that a WebSocket client is alive, is still authorized, and does not flood the server. */
import { ApiError } from "@millrace/contract";
import type { WebSocket } from "ws";

const pingMs = 15_000;
/**
 * Maximum number of frames from the client between two pings. A client normally sends only pings and pongs, one every
 * few seconds.
 */
const mostFrames = 200;
/** If at least this many bytes wait to be sent to a client, the server does not answer the client's pings. */
const mostBuffered = 1024 * 1024;

/**
 * Pings a WebSocket client until the returned timer is cleared. Terminates a client that sends too many frames. Also
 * terminates a client that neither answered the last two pings nor read anything. Closes the connection once the token
 * is revoked or the user is disabled.
 */
export function keepAlive(client: WebSocket, askAgain: () => Promise<unknown>): NodeJS.Timeout {
  let silent = 0;
  let waiting = 0;
  let heard = 0;
  let asked = false;
  const hear = () => {
    if (++heard > mostFrames) client.terminate();
  };
  client.on("message", hear);
  client.on("ping", (data: Buffer) => {
    hear();
    if (client.bufferedAmount < mostBuffered) client.pong(data);
  });
  client.on("pong", () => {
    hear();
    if (asked) silent = 0;
    asked = false;
  });
  return setInterval(() => {
    heard = 0;
    if (client.bufferedAmount < waiting) silent = 0;
    waiting = client.bufferedAmount;
    if (++silent > 2) return client.terminate();
    client.ping();
    asked = true;
    askAgain().catch((error: unknown) => error instanceof ApiError && client.close(1008));
  }, pingMs);
}
