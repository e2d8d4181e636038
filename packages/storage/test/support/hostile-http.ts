/** Every storage scheme that uses HTTP, opened at our own server that answers as no real one does. */
import type { ServerResponse } from "node:http";
import { openStorage, type Storage } from "@millrace/storage";

const mebibyte = 1024 * 1024;

/** Limit after which an unbounded reader is disconnected, so that a test fails instead of filling the memory. */
const mostSent = 256 * mebibyte;

/** Sends bytes until the client disconnects; calls `count` for each piece. */
export function answerWithoutEnd(response: ServerResponse, status: number, count: (bytes: number) => void): void {
  const piece = Buffer.alloc(64 * 1024, "x");
  let sent = 0;
  response.writeHead(status, { etag: '"e"' });
  const go = () => {
    while (!response.destroyed) {
      if (sent >= mostSent) return void response.end();
      sent += piece.length;
      count(piece.length);
      if (!response.write(piece)) return void response.once("drain", go);
    }
  };
  go();
}

export const openers: Readonly<Record<string, (url: string) => Storage>> = {
  webdav: (url) => openStorage(`${url.replace("http:", "webdav:")}/base`),
  s3: (url) => openStorage("s3://bucket", { endpoint_url: url, anon: true }),
  gs: (url) => openStorage("gs://bucket", { endpoint_url: url, token: "anon" }),
  az: (url) => {
    const connection_string = `AccountName=a;BlobEndpoint=${url}/a`;
    return openStorage("az://container", { connection_string, assume_container_exists: true });
  },
  hf: (url) => openStorage("hf://datasets/a/b", { endpoint: url }),
  http: (url) => openStorage(url),
};
