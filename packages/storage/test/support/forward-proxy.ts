/** A small but real HTTP proxy: it forwards requests and tunnels, and records them. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request as send } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

export interface ForwardProxy {
  readonly url: string;
  /** `GET http://host/path`, `CONNECT host:port`. */
  readonly asked: string[];
  readonly authorizations: (string | undefined)[];
  /** Names in the certificates of clients. */
  readonly shown: (string | undefined)[];
  stop(): Promise<void>;
}

interface Tls {
  readonly key: string;
  readonly cert: string;
  /** Only for clients with a certificate of this authority. */
  readonly ca?: string;
}

export async function startForwardProxy(tls?: Tls): Promise<ForwardProxy> {
  const [asked, authorizations, shown]: [string[], (string | undefined)[], (string | undefined)[]] = [[], [], []];
  const note = ({ method, url, headers, socket }: IncomingMessage) => {
    asked.push(`${method} ${url}`);
    authorizations.push(headers["proxy-authorization"]);
    const name = tls && (socket as TLSSocket).getPeerCertificate().subject?.CN;
    shown.push(typeof name === "string" ? name : undefined);
  };
  const secured = tls && { ...tls, ...(tls.ca ? { requestCert: true, rejectUnauthorized: true } : {}) };
  const server = secured ? createSecureServer(secured) : createServer();
  server.on("request", (incoming: IncomingMessage, response) => {
    note(incoming);
    const { "proxy-authorization": _, ...headers } = incoming.headers;
    const outgoing = send(incoming.url ?? "", { method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.writeHead(502).end());
    incoming.pipe(outgoing);
  });
  const tunnels = new Set<Duplex>();
  server.on("connect", (incoming: IncomingMessage, socket: Duplex) => {
    note(incoming);
    const [host = "", port = ""] = (incoming.url ?? "").split(":");
    const onward = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    for (const each of [socket, onward]) {
      tunnels.add(each);
      each.on("error", () => [socket, onward].map((end) => end.destroy()));
      each.on("close", () => [socket, onward].map((end) => end.destroy()));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    // Not by its address, which TLS does not accept as a name.
    url: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    asked,
    authorizations,
    shown,
    async stop() {
      for (const each of tunnels) each.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
