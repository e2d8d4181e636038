/** The way from pods to a server that listens on this machine only. It can be cut, like any network. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { closedAtEnd } from "@millrace/testing/servers/left-open.ts";

export interface Gateway {
  readonly url: string;
  /** Ends all connections, and lets no others through. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Forwards connections from an address of this machine to a port of the same machine. */
export async function openGateway(address: string, port: number): Promise<Gateway> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((from) => {
    if (isCut) return void from.destroy();
    const to = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => sockets.delete(socket));
      socket.pipe(other);
    }
  });
  await once(server.listen(0, address), "listening");
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://${address}:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      drop();
    },
    mend() {
      isCut = false;
    },
    close: closedAtEnd(async () => {
      server.close();
      drop();
    }),
  };
}
