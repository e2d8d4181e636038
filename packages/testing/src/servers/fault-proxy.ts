/**
 * A proxy between a client and a real server. It injects faults of networks and stores into chosen requests.
 */
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export type Fault =
  /** The proxy answers with this status itself, without asking the store. */
  | { readonly kind: "answer"; readonly status: number; readonly code: string }
  /** The connection is reset before the store gets the request. */
  | { readonly kind: "refuse" }
  /** The answer is delayed by this many milliseconds. */
  | { readonly kind: "late"; readonly pause: number }
  /** The store carries out the request, but the client does not get the answer. */
  | { readonly kind: "lose" }
  /** The body of the answer breaks off at this fraction of its length, by a reset or by a regular end. */
  | { readonly kind: "break"; readonly at: number; readonly how: "reset" | "end" }
  /** The answer pauses in the middle of its body for this many milliseconds. */
  | { readonly kind: "slow"; readonly pause: number };

export interface ProxiedRequest {
  readonly method: string;
  /** Path and query, encoded. */
  readonly url: string;
}

export interface FaultProxy {
  readonly url: string;
  readonly requests: ProxiedRequest[];
  stop(): Promise<void>;
}

interface StoreAnswer {
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
}

export async function startFaultProxy(
  port: number,
  choose: (request: ProxiedRequest) => Fault | undefined,
): Promise<FaultProxy> {
  const requests: ProxiedRequest[] = [];
  const agent = new Agent({ keepAlive: true });
  const server = createServer(async (incoming, response) => {
    const seen = { method: incoming.method ?? "", url: incoming.url ?? "" };
    requests.push(seen);
    try {
      await relay(
        incoming,
        response,
        () => choose(seen),
        (body) => ask(agent, port, incoming, body),
      );
    } catch {
      response.destroy();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function relay(
  incoming: IncomingMessage,
  response: ServerResponse,
  choose: () => Fault | undefined,
  askStore: (body: Buffer) => Promise<StoreAnswer>,
): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(incoming));
  const fault = choose();
  if (fault?.kind === "refuse") return reset(response);
  if (fault?.kind === "answer") return refuse(response, fault.status, fault.code);
  const answer = await askStore(body);
  if (fault?.kind === "lose") return reset(response);
  if (fault?.kind === "late") await pause(fault.pause);
  response.writeHead(answer.incoming.statusCode ?? 502, answer.incoming.rawHeaders);
  if (fault?.kind === "break") await breakOff(response, answer.body, fault);
  else if (fault?.kind === "slow") await slowly(response, answer.body, fault.pause);
  else response.end(answer.body);
}

/** Forwards a request with unchanged headers, because the signature covers the host to which the client connects. */
async function ask(agent: Agent, port: number, incoming: IncomingMessage, body: Buffer): Promise<StoreAnswer> {
  const { method, url, headers } = incoming;
  const sent = request({ agent, host: "127.0.0.1", port, method, path: url, headers, setHost: false });
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return { incoming: answer, body: Buffer.concat(await Array.fromAsync(answer)) };
}

const reset = (response: ServerResponse): void => void response.socket?.resetAndDestroy();

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}

async function breakOff(response: ServerResponse, body: Buffer, { at, how }: Fault & { kind: "break" }): Promise<void> {
  response.flushHeaders();
  await new Promise<void>((resolve) => response.write(body.subarray(0, Math.floor(body.length * at)), () => resolve()));
  if (how === "reset") reset(response);
  else response.socket?.destroySoon();
}

async function slowly(response: ServerResponse, body: Buffer, milliseconds: number): Promise<void> {
  const middle = body.length >> 1;
  response.write(body.subarray(0, middle));
  await pause(milliseconds);
  response.end(body.subarray(middle));
}
