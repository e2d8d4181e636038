/** Whether a follower is still there, is still let in, and says no more than it has to. */
import { ApiError } from "@millrace/contract";
import type { WebSocket } from "ws";

const pingMs = 15_000;
/** Frames between two pings of ours. A follower has nothing to say but pings and pongs, one in some seconds. */
const mostFrames = 200;
/** Bytes that wait for a slow reader; beyond it pings are not answered. */
const mostBuffered = 1024 * 1024;

/**
 * A reader that neither answers nor takes anything for two rounds is gone, whatever its connection says. One that would
 * not be let in any more, since the token was revoked or the user disabled, is sent away; so is one that floods us.
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
