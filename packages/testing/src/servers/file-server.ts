/** A real HTTP server that serves the files below a folder: packages, repositories, whatever a job asks for. */
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { closedAtEnd } from "./left-open.ts";

export interface FileServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves a folder at an address of this machine. A path that ends with a slash names its `index.html`. */
export async function serveFiles(folder: string, address = "127.0.0.1"): Promise<FileServer> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://host");
    const path = join(folder, pathname.replace(/\/$/, "/index.html"));
    if (!(await stat(path).catch(() => undefined))?.isFile()) return void response.writeHead(404).end();
    if (path.endsWith(".html")) response.setHeader("content-type", "text/html");
    createReadStream(path).pipe(response);
  });
  await once(server.listen(0, address), "listening");
  return {
    url: `http://${address}:${(server.address() as AddressInfo).port}`,
    stop: closedAtEnd(async () => {
      server.close();
      server.closeAllConnections();
    }),
  };
}
