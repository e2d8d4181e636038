/**
 * Our own small hub, because no real one is available: repositories with commits, trees, LFS contents, tokens. Both
 * official clients accept it; hub-clients.test.ts proves that.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { apiCalls, type Call, fileCalls, type RepositoryType } from "./calls.ts";
import { type HubRequest, refuse, sendJson } from "./exchange.ts";
import { HubObjects } from "./objects.ts";
import { type Commit, HubRepository } from "./repository.ts";

export interface HubOptions {
  /** Entries per page; small, so that listings have several pages. */
  readonly pageSize?: number;
  /** Bytes per part of an upload. */
  readonly partSize?: number;
}

export const writerToken = "hf_writer";
export const readerToken = "hf_reader";

const types: readonly string[] = ["models", "datasets", "spaces"];

export class HubServer {
  readonly requests: HubRequest[] = [];
  readonly objects: HubObjects;
  readonly #repositories = new Map<string, HubRepository>();
  readonly #moved = new Map<string, string>();
  readonly #pageSize: number;
  readonly #server = createServer((incoming, response) => void this.#receive(incoming, response));
  /** Answers a request before the hub does, if it returns true. */
  intercept: ((request: HubRequest, response: ServerResponse) => boolean) | undefined;

  constructor({ pageSize = 5, partSize = 3_000_000 }: HubOptions) {
    this.#pageSize = pageSize;
    this.objects = new HubObjects(partSize);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    // Both names of this machine: contents are served under the other.
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

  /** Old repositories have a name without a namespace. */
  #named(type: RepositoryType, [space = "", name = "", action = "", ...rest]: readonly string[]) {
    const alone = space.replace(/\.git$/, "");
    const isAlone = this.#repositories.has(`${type}/${alone}`) || this.#moved.has(`${type}/${alone}`);
    if (isAlone) return { id: alone, action: name, rest: [action, ...rest].filter((word) => word !== "") };
    return { id: `${space}/${name.replace(/\.git$/, "")}`, action, rest };
  }

  #withRepository(
    request: HubRequest,
    response: ServerResponse,
    type: RepositoryType,
    segments: readonly string[],
    calls: Readonly<Record<string, Call>>,
  ): ServerResponse {
    const { id, action, rest } = this.#named(type, segments);
    const moved = this.#moved.get(`${type}/${id}`);
    if (moved !== undefined) {
      return response.writeHead(307, { location: request.url.replace(id, moved) }).end();
    }
    const repository = this.#repositories.get(`${type}/${id}`);
    const wrong = whyRefused(request, repository, action);
    if (wrong) return refuse(response, ...wrong);
    const call = calls[action];
    if (!call || !repository) return refuse(response, 404, "", "no such call");
    const [revision = "main", ...path] = rest;
    const commit = repository.at(revision);
    if (!commit && action !== "info") return refuse(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    const scope = { request, response, type, repository, revision, commit: commit as Commit, path: path.join("/") };
    return call({ ...scope, objects: this.objects, pageSize: this.#pageSize });
  }
}

/** Status, code and message. A caller without access is told that the repository does not exist. */
function whyRefused(
  { headers }: HubRequest,
  repository: HubRepository | undefined,
  action: string,
): [number, string, string] | undefined {
  const anonymous = headers.authorization === undefined;
  const isWriter = headers.authorization === `Bearer ${writerToken}`;
  // Without a token the status is 401, whatever the reason.
  if (!repository || (repository.isPrivate && anonymous)) {
    return [anonymous ? 401 : 404, "RepoNotFound", "Repository not found"];
  }
  if (repository.isGated && !isWriter) return [403, "GatedRepo", "Access to this repository is restricted"];
  const writes = ["preupload", "commit", "info"].includes(action);
  return writes && !isWriter ? [anonymous ? 401 : 403, "", "You may not write here"] : undefined;
}

export async function startHub(options: HubOptions = {}): Promise<HubServer> {
  const hub = new HubServer(options);
  await hub.start();
  return hub;
}
