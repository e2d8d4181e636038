/** Hand-written requests that no client would send: partial, slow, or with another host name. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface RawConnection {
  readonly socket: Socket;
  /** Resolves when this much of an answer has arrived; fails if the connection ends before. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with the whole answer when the server has closed the connection. */
  closed(): Promise<string>;
}

export async function openRaw(
  url: string,
  text = "",
  options: { allowHalfOpen?: boolean } = {},
): Promise<RawConnection> {
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", ...options });
  let answered = "";
  socket.on("data", (bytes) => {
    answered += bytes.toString("latin1");
  });
  // A connection that the server resets is closed, too.
  socket.on("error", () => undefined);
  const gone = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await once(socket, "connect");
  if (text) socket.write(text);
  const until = async (pattern: RegExp) => {
    while (!pattern.test(answered)) {
      if (socket.closed) throw new Error(`the connection ended with ${JSON.stringify(answered)}`);
      await Promise.race([new Promise((resolve) => socket.once("data", resolve)), gone]);
    }
    return answered;
  };
  const closed = () => gone.then(() => answered);
  return { socket, until, closed };
}

/** The headers of a request; no body is sent. */
export const head = (line: string, headers: Record<string, string | number> = {}) =>
  [`${line} HTTP/1.1`, ...Object.entries({ host: "localhost", ...headers }).map(([k, v]) => `${k}: ${v}`), "", ""].join(
    "\r\n",
  );
