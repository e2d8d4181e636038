/** A small HTTP server of our own, for what no real one does on demand: it records requests and answers as told. */
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

/** `count` tells `answer` how many requests there have been, this one included. */
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
