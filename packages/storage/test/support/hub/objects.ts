/** LFS contents: the batch call that returns addresses, uploads at once and in parts, downloads. */
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { type HubRequest, refuse, sendBytes, sendJson } from "./exchange.ts";

interface BatchRequest {
  readonly transfers: readonly string[];
  readonly objects: readonly { oid: string; size: number }[];
}

export class HubObjects {
  readonly contents = new Map<string, Buffer>();
  readonly #parts = new Map<string, Buffer[]>();
  readonly #partSize: number;

  constructor(partSize: number) {
    this.#partSize = partSize;
  }

  /** Existing content needs no upload; content larger than a part is uploaded in parts, if the client supports it. */
  batch(request: HubRequest, response: ServerResponse): ServerResponse {
    const { transfers, objects } = JSON.parse(request.body.toString()) as BatchRequest;
    const inParts = transfers.includes("multipart") && objects.some(({ size }) => size > this.#partSize);
    const answers = objects.map(({ oid, size }) => {
      if (this.contents.has(oid)) return { oid, size };
      const address = `${cdnOf(request.origin)}/lfs/${oid}`;
      const verify = { href: `${request.origin}/lfs-verify/${oid}` };
      const upload =
        inParts && size > this.#partSize
          ? { href: `${address}/complete`, header: this.#partHeader(address, size) }
          : { href: address };
      return { oid, size, authenticated: true, actions: { upload, verify } };
    });
    return sendJson(response, 200, { transfer: inParts ? "multipart" : "basic", objects: answers });
  }

  #partHeader(address: string, size: number): Record<string, string> {
    const header: Record<string, string> = { chunk_size: String(this.#partSize) };
    for (let part = 1; part <= Math.ceil(size / this.#partSize); part += 1) header[part] = `${address}/${part}`;
    return header;
  }

  /** Uploads have no token, because their addresses are signed. Like the real store, it refuses a token. */
  answer(request: HubRequest, response: ServerResponse): ServerResponse {
    const [, oid = "", part] = request.segments;
    if (request.headers.authorization !== undefined) return response.writeHead(400).end("two authentications");
    if (request.method === "GET" || request.method === "HEAD") return this.#download(request, response, oid);
    if (part === undefined) return this.#store(response, oid, request.body);
    if (part === "complete") return this.#complete(request, response, oid);
    const parts = this.#parts.get(oid) ?? [];
    parts[Number(part) - 1] = request.body;
    this.#parts.set(oid, parts);
    return response.writeHead(200, { etag: `"${partTag(request.body)}"` }).end();
  }

  #download(request: HubRequest, response: ServerResponse, oid: string): ServerResponse {
    const bytes = this.contents.get(oid);
    if (!bytes) return response.writeHead(404).end();
    return sendBytes(request, response, bytes, { etag: `"${createHash("md5").update(bytes).digest("hex")}"` });
  }

  #store(response: ServerResponse, oid: string, bytes: Buffer): ServerResponse {
    if (createHash("sha256").update(bytes).digest("hex") !== oid) return response.writeHead(400).end("wrong hash");
    this.contents.set(oid, bytes);
    return response.writeHead(200).end();
  }

  #complete(request: HubRequest, response: ServerResponse, oid: string): ServerResponse {
    const parts = this.#parts.get(oid) ?? [];
    const told = JSON.parse(request.body.toString()) as { parts: { partNumber: number; etag: string }[] };
    const right = told.parts.every(({ partNumber, etag }) => {
      const part = parts[partNumber - 1];
      return part !== undefined && etag.replaceAll('"', "") === partTag(part);
    });
    if (!right || told.parts.length !== parts.length) return response.writeHead(400).end("wrong parts");
    this.#parts.delete(oid);
    return this.#store(response, oid, Buffer.concat(parts));
  }

  verify(request: HubRequest, response: ServerResponse): ServerResponse {
    const { oid, size } = JSON.parse(request.body.toString()) as { oid: string; size: number };
    if (this.contents.get(oid)?.length !== size) return refuse(response, 404, "NotFound", "not uploaded");
    return sendJson(response, 200, {});
  }
}

const partTag = (bytes: Buffer) => createHash("md5").update(bytes).digest("hex");

/** Another name of the same machine: another origin, as the real content store is. */
export const cdnOf = (origin: string) => origin.replace("127.0.0.1", "localhost");
