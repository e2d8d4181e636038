/**
 * Our own small HTTP server, for behaviour that no real one shows on demand: it records requests and answers as the
 * test says.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Answer = (request: RecordedRequest, response: ServerResponse, count: number) => void;

export interface RecordingServer {
  readonly url: string;
  readonly requests: RecordedRequest[];
  stop(): Promise<void>;
}

/** `count` is the number of requests so far, including this one. */
export async function startRecordingServer(answer: Answer): Promise<RecordingServer> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const body = Buffer.concat(await Array.fromAsync(incoming).catch(() => []));
    const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://local");
    const { method = "", headers } = incoming;
    const request = { method, path: pathname, query: searchParams, headers, body };
    requests.push(request);
    answer(request, response, requests.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
