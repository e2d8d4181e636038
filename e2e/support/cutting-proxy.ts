/** A TCP proxy between a client and a server, whose connections a test cuts. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #targetPort: number;

  /** Listens at an address of this machine; its connections go to a port of the same machine. */
  static async start(targetPort: number, address = "127.0.0.1"): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort);
    proxy.#server.listen(0, address);
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => {
      const target = connect(this.#targetPort, "127.0.0.1");
      this.#join(client, target);
      this.#join(target, client);
    });
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  /** The target of future connections. */
  pointAt(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** Ends every connection: with a reset, as when a router gives up, or cleanly, as when a machine shuts down. */
  cut(how: "reset" | "end"): number {
    const open = [...this.#sockets];
    for (const socket of open) {
      if (how === "reset") socket.resetAndDestroy();
      else socket.destroy();
    }
    return open.length;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cut("reset");
    await once(this.#server, "close");
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => this.#sockets.delete(from));
  }
}
