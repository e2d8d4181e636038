/**
 * Blobs with versions, in memory, because azurite has none. Supports only what the tests need; the vendor's own client
 * is tested against it, too.
 */
import { type Answer, type RecordingServer, startRecordingServer } from "./recording-server.ts";

interface Version {
  readonly id: string;
  readonly content: Buffer;
  readonly etag: string;
}

interface Blob {
  /** Oldest first. */
  versions: Version[];
  /** Undefined after a removal: the versions stay. */
  current: string | undefined;
}

export interface VersionedBlobs extends RecordingServer {
  readonly connection_string: string;
}

export async function startVersionedBlobs(): Promise<VersionedBlobs> {
  const blobs = new Map<string, Blob>();
  const answer: Answer = (request, response) => {
    const name = decodeURIComponent(request.path.split("/").slice(3).join("/"));
    const version = request.query.get("versionid");
    if (request.query.get("comp") === "list") {
      response.setHeader("content-type", "application/xml");
      const prefix = request.query.get("prefix") ?? "";
      const listed = new Map([...blobs].filter(([key]) => key.startsWith(prefix)));
      return void response.end(listing(listed, request.query.get("include") === "versions"));
    }
    if (name === "") return void response.writeHead(200).end();
    if (request.method === "PUT") return void response.writeHead(201, put(blobs, name, request.body)).end();
    const blob = blobs.get(name);
    const wanted = blob?.versions.find(({ id }) => id === (version ?? blob.current));
    if (!blob || !wanted) return void response.writeHead(404, { "x-ms-error-code": "BlobNotFound" }).end();
    if (request.method === "DELETE") {
      remove(blob, version);
      return void response.writeHead(202).end();
    }
    const headers = { ...headersOf(wanted), "x-ms-is-current-version": String(wanted.id === blob.current) };
    response.writeHead(200, { ...headers, "content-length": wanted.content.length });
    response.end(request.method === "HEAD" ? undefined : wanted.content);
  };
  const server = await startRecordingServer(answer);
  const account = `DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=${Buffer.from("a key").toString("base64")}`;
  return { ...server, connection_string: `${account};BlobEndpoint=${server.url}/acct;` };
}

let made = 0;

function put(blobs: Map<string, Blob>, name: string, content: Buffer): Record<string, string> {
  made += 1;
  const id = `2026-01-01T00:00:00.${String(made).padStart(7, "0")}Z`;
  const version = { id, content, etag: `0x${made}` };
  const blob = blobs.get(name) ?? { versions: [], current: undefined };
  blobs.set(name, { versions: [...blob.versions, version], current: id });
  return headersOf(version);
}

function remove(blob: Blob, version: string | null): void {
  if (version === null) blob.current = undefined;
  else blob.versions = blob.versions.filter(({ id }) => id !== version);
}

const modified = "Thu, 01 Jan 2026 00:00:00 GMT";

const headersOf = ({ id, etag }: Version) => ({ "x-ms-version-id": id, etag: `"${etag}"`, "last-modified": modified });

function listing(blobs: ReadonlyMap<string, Blob>, all: boolean): string {
  const entries = [...blobs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, blob]) =>
      blob.versions
        .filter(({ id }) => all || id === blob.current)
        .map((version) => entryXml(name, version, version.id === blob.current, all)),
    );
  const list = `<Blobs>${entries.join("")}</Blobs><NextMarker/>`;
  return `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="c">${list}</EnumerationResults>`;
}

function entryXml(name: string, { id, etag, content }: Version, current: boolean, all: boolean): string {
  const version = all
    ? `<VersionId>${id}</VersionId>${current ? "<IsCurrentVersion>true</IsCurrentVersion>" : ""}`
    : "";
  const properties = `<Last-Modified>${modified}</Last-Modified><Etag>${etag}</Etag><Content-Length>${content.length}</Content-Length><BlobType>BlockBlob</BlobType>`;
  return `<Blob><Name>${name}</Name>${version}<Properties>${properties}</Properties></Blob>`;
}
