/**
 * A small hub of our own, since none can be had: repositories with commits, trees, contents beside git, tokens. Both
 * official clients accept it; hub-clients.test.ts drives it with them before anything of ours does.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type HubRequest, refuse, sendBytes, sendJson } from "./exchange.ts";
import { cdnOf, HubObjects } from "./objects.ts";
import { type Commit, type CommitLine, HubRepository } from "./repository.ts";
import { itemAt, itemsOf } from "./tree.ts";

export interface HubOptions {
  /** Entries of a page; small, so that listings have several. */
  readonly pageSize?: number;
  /** Bytes of a part of an upload. */
  readonly partSize?: number;
}

export const writerToken = "hf_writer";
export const readerToken = "hf_reader";

type RepositoryType = "models" | "datasets" | "spaces";
const types: readonly string[] = ["models", "datasets", "spaces"];

export class HubServer {
  readonly requests: HubRequest[] = [];
  readonly objects: HubObjects;
  readonly #repositories = new Map<string, HubRepository>();
  readonly #moved = new Map<string, string>();
  readonly #pageSize: number;
  readonly #server = createServer((incoming, response) => void this.#receive(incoming, response));
  /** Answers a request before the hub does, when it returns true. */
  intercept: ((request: HubRequest, response: ServerResponse) => boolean) | undefined;

  constructor({ pageSize = 5, partSize = 3_000_000 }: HubOptions) {
    this.#pageSize = pageSize;
    this.objects = new HubObjects(partSize);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    // Both names of this machine: the contents live under the other.
    this.#server.listen(0, "::");
    await once(this.#server, "listening");
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  create(type: RepositoryType, id: string, options: { isPrivate?: boolean; isGated?: boolean } = {}): HubRepository {
    const repository = new HubRepository(id, options);
    this.#repositories.set(`${type}/${id}`, repository);
    return repository;
  }

  /** The old name answers with a redirect, as after a rename. */
  rename(type: RepositoryType, from: string, to: string): void {
    const repository = this.#repositories.get(`${type}/${from}`) as HubRepository;
    this.#repositories.delete(`${type}/${from}`);
    this.#repositories.set(`${type}/${to}`, repository);
    this.#moved.set(`${type}/${from}`, to);
  }

  async #receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(incoming).catch(() => []));
    const url = incoming.url ?? "/";
    const { pathname, searchParams } = new URL(url, "http://hub");
    const segments = pathname.slice(1).split("/").map(decodeURIComponent);
    const { method = "", headers } = incoming;
    const request = { method, url, segments, query: searchParams, headers, body, origin: this.url };
    this.requests.push(request);
    if (this.intercept?.(request, response)) return;
    try {
      this.#route(request, response);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }

  #route(request: HubRequest, response: ServerResponse): ServerResponse {
    const [first = ""] = request.segments;
    if (first === "lfs") return this.objects.answer(request, response);
    if (!this.#isKnown(request)) return refuse(response, 401, "", "Invalid credentials in Authorization header");
    if (first === "lfs-verify") return this.objects.verify(request, response);
    if (first === "api" && types.includes(request.segments[1] ?? "")) {
      const [, type = "", ...rest] = request.segments;
      return this.#withRepository(request, response, type as RepositoryType, rest, apiCalls);
    }
    if (first === "api") return sendJson(response, 200, {});
    const [type, rest] = types.includes(first) ? [first, request.segments.slice(1)] : ["models", request.segments];
    return this.#withRepository(request, response, type as RepositoryType, rest, fileCalls);
  }

  #isKnown({ headers }: HubRequest): boolean {
    const token = headers.authorization;
    return token === undefined || token === `Bearer ${writerToken}` || token === `Bearer ${readerToken}`;
  }

  #withRepository(
    request: HubRequest,
    response: ServerResponse,
    type: RepositoryType,
    [space = "", name = "", action = "", ...rest]: readonly string[],
    calls: Readonly<Record<string, Call>>,
  ): ServerResponse {
    const id = `${space}/${name.replace(/\.git$/, "")}`;
    const moved = this.#moved.get(`${type}/${id}`);
    if (moved !== undefined) {
      return response.writeHead(307, { location: request.url.replace(id, moved) }).end();
    }
    const repository = this.#repositories.get(`${type}/${id}`);
    const anonymous = request.headers.authorization === undefined;
    // Who may not see a repository is told that there is none; without a token the status is 401 all the same.
    if (!repository || (repository.isPrivate && anonymous)) {
      return refuse(response, anonymous ? 401 : 404, "RepoNotFound", "Repository not found");
    }
    if (repository.isGated && request.headers.authorization !== `Bearer ${writerToken}`) {
      return refuse(response, 403, "GatedRepo", "Access to this repository is restricted");
    }
    const call = calls[action];
    if (!call) return refuse(response, 404, "", "no such call");
    const writes = ["preupload", "commit", "info"].includes(action);
    if (writes && request.headers.authorization !== `Bearer ${writerToken}`) {
      return refuse(response, anonymous ? 401 : 403, "", "You may not write here");
    }
    const [revision = "main", ...path] = rest;
    const commit = repository.at(revision);
    if (!commit && action !== "info") return refuse(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    const scope = { request, response, type, repository, revision, commit: commit as Commit, path: path.join("/") };
    return call({ ...scope, objects: this.objects, pageSize: this.#pageSize });
  }
}

interface Scope {
  readonly request: HubRequest;
  readonly response: ServerResponse;
  readonly type: RepositoryType;
  readonly repository: HubRepository;
  readonly revision: string;
  readonly commit: Commit;
  readonly path: string;
  readonly objects: HubObjects;
  readonly pageSize: number;
}

type Call = (scope: Scope) => ServerResponse;

const apiCalls: Readonly<Record<string, Call>> = {
  "": tellRepository,
  revision: tellRepository,
  tree: listTree,
  "paths-info": tellPaths,
  preupload: planUpload,
  commit: makeCommit,
};

const fileCalls: Readonly<Record<string, Call>> = {
  resolve: resolveFile,
  raw: resolveFile,
  info: ({ request, response, objects }) => objects.batch(request, response),
};

function tellRepository({ response, repository, commit }: Scope): ServerResponse {
  const { id, isPrivate } = repository;
  const siblings = [...commit.files.keys()].map((rfilename) => ({ rfilename }));
  const told = { id, _id: id, sha: commit.id, private: isPrivate, gated: false, tags: [], siblings };
  return sendJson(response, 200, { ...told, lastModified: commit.date, downloads: 0, likes: 0 });
}

const isTrue = (text: string | null) => text === "true" || text === "True" || text === "1";

function listTree({ request, response, commit, path, pageSize }: Scope): ServerResponse {
  const expand = isTrue(request.query.get("expand"));
  const items = itemsOf(commit, path, isTrue(request.query.get("recursive")), expand);
  if (!items) return refuse(response, 404, "EntryNotFound", "Entry not found");
  const start = Number(request.query.get("cursor") ?? 0);
  const next = new URL(request.url, request.origin);
  next.searchParams.set("cursor", String(start + pageSize));
  const link = start + pageSize < items.length ? { link: `<${next}>; rel="next"` } : {};
  return sendJson(response, 200, items.slice(start, start + pageSize), { ...link } as Record<string, string>);
}

/** The clients ask in JSON, or as a form. */
function tellPaths({ request, response, commit }: Scope): ServerResponse {
  const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  const form = new URLSearchParams(request.body.toString());
  const asked = isForm
    ? { paths: form.getAll("paths"), expand: isTrue(form.get("expand")) }
    : (JSON.parse(request.body.toString()) as { paths: string[]; expand?: boolean });
  const items = asked.paths.map((path) => itemAt(commit, path, asked.expand ?? false));
  return sendJson(
    response,
    200,
    items.filter((item) => item !== undefined),
  );
}

/** Text goes into git; bigger and binary contents beside it. */
function planUpload({ request, response }: Scope): ServerResponse {
  const { files } = JSON.parse(request.body.toString()) as {
    files: { path: string; size: number; sample: string }[];
  };
  const planned = files.map(({ path, size, sample }) => {
    const isText = size < 1_000_000 && !Buffer.from(sample, "base64").includes(0) && !/\.(bin|parquet)$/.test(path);
    return { path, uploadMode: isText ? "regular" : "lfs", shouldIgnore: false };
  });
  return sendJson(response, 200, { files: planned });
}

function makeCommit({ request, response, type, repository, revision, objects }: Scope): ServerResponse {
  const lines = request.body
    .toString()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as CommitLine);
  const made = repository.commit(revision, lines, objects.contents);
  if (typeof made === "string") return refuse(response, made.includes("since") ? 412 : 400, "", made);
  const prefix = type === "models" ? "" : `${type}/`;
  const commitUrl = `${request.origin}/${prefix}${repository.id}/commit/${made.id}`;
  return sendJson(response, 200, { success: true, commitOid: made.id, commitUrl, hookOutput: "" });
}

function resolveFile({ request, response, commit, path, objects }: Scope): ServerResponse {
  const file = commit.files.get(path);
  if (!file) return refuse(response, 404, "EntryNotFound", "Entry not found");
  const headers = { "x-repo-commit": commit.id, "content-type": "application/octet-stream" };
  if (file.sha256 === undefined) return sendBytes(request, response, file.bytes, { ...headers, etag: `"${file.oid}"` });
  objects.contents.set(file.sha256, file.bytes);
  const linked = { "x-linked-etag": `"${file.sha256}"`, "x-linked-size": String(file.bytes.length) };
  const location = `${cdnOf(request.origin)}/lfs/${file.sha256}`;
  return response.writeHead(302, { ...headers, ...linked, location, "content-length": "0" }).end();
}

export async function startHub(options: HubOptions = {}): Promise<HubServer> {
  const hub = new HubServer(options);
  await hub.start();
  return hub;
}
