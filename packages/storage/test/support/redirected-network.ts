/** Redirects connections to the vendor's hosts to our own server, because tests reach no store outside. */
import net from "node:net";
import { mock } from "node:test";

/** Plain HTTP only. Records the hosts that were connected to. */
export function redirectNetwork(url: string): { readonly hosts: string[]; restore(): void } {
  const { hostname: host, port } = new URL(url);
  const connect = net.connect;
  const hosts: string[] = [];
  const mocked = mock.method(net, "connect", (options: net.TcpNetConnectOpts) => {
    hosts.push(options.host ?? "");
    return connect({ ...options, host, port: Number(port) });
  });
  return { hosts, restore: () => mocked.mock.restore() };
}

/** A network in which nobody ever answers. */
export function silenceNetwork(): { restore(): void } {
  const mocked = mock.method(net, "connect", () => new net.Socket());
  return { restore: () => mocked.mock.restore() };
}
