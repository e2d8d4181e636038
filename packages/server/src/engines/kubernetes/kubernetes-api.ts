/** Requests to the API server of a Kubernetes cluster. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent, request } from "undici";
import { EngineUnreachable, shortened } from "../engine.ts";
import { Calls, whyFailed } from "../runners/calls.ts";
import { type Credential, type Credentials, credentialsOf } from "./credentials.ts";
import { type Kubeconfig, readKubeconfig } from "./kubeconfig.ts";
import type { KubernetesList, Status } from "./objects.ts";

/** The API server refuses a request; `status` is its HTTP status and `reason` its own short word for why. */
export class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, { reason = "", message = "" }: Status) {
    super(shortened(String(message)) || `the API server answered ${status}`);
    this.status = status;
    this.reason = shortened(String(reason));
  }
}

export interface ApiAccess {
  /** A kubeconfig as JSON; empty: the server itself runs in a pod of the cluster. */
  readonly kubeconfig: string;
  readonly context: string;
  /** Folder in which a pod finds its own token and the cluster's certificate. */
  readonly podFolder?: string;
}

interface Connection {
  readonly config: Kubeconfig;
  readonly credentials: Credentials;
}

interface Call {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly type?: "application/json" | "application/merge-patch+json";
}

/** Objects in one page of a list. */
const pageSize = 500;
/** The most objects of a list, and the most pages: an answer can always name a next page. */
const mostObjects = 100_000;
const mostPages = 400;

/** Milliseconds that all pages of a list may take. */
const listMs = 300_000;

/** A list is read from its beginning again at most this often, if its pages expire. */
const mostRestarts = 3;

export class KubernetesApi {
  readonly #access: ApiAccess;
  readonly #calls = new Calls();
  #connection: Promise<Connection> | undefined;
  #agent: { readonly agent: Agent; readonly of: string } | undefined;

  constructor(access: ApiAccess) {
    this.#access = access;
  }

  namespace = async (): Promise<string> => (await this.#connected()).config.namespace;

  /** Lists all objects, page by page. Returns also the time of the API server at the last page. */
  async list<T>(path: string, query: Readonly<Record<string, string>>): Promise<{ items: T[]; now: number }> {
    for (let restarts = 0; ; restarts++) {
      try {
        return await this.#pages<T>(path, query);
      } catch (error) {
        // 410: the pages that are left are those of a state that the API server no longer knows.
        if (!(error instanceof Refused) || error.status !== 410 || restarts === mostRestarts) throw error;
      }
    }
  }

  async #pages<T>(path: string, query: Readonly<Record<string, string>>): Promise<{ items: T[]; now: number }> {
    const items: T[] = [];
    const began = performance.now();
    let next = "";
    for (let pages = 0; pages < mostPages && items.length < mostObjects; pages++) {
      if (performance.now() - began > listMs) break;
      const page = { ...query, limit: String(pageSize), ...(next === "" ? {} : { continue: next }) };
      await this.#calls.rest();
      const { answer, now, text } = await this.#send<KubernetesList<T>>("GET", path, { query: page });
      this.#calls.noteList(text);
      if (!isList(answer)) throw new EngineUnreachable("Kubernetes answered something other than a list.");
      for (const item of answer.items) items.push(item);
      next = answer.metadata?.continue ?? "";
      if (next === "") return { items, now };
    }
    throw new EngineUnreachable(`Kubernetes: the list ${path} does not end.`);
  }

  /** Sends a request. Throws Refused if the API server refuses it, and EngineUnreachable if it gives no answer. */
  call = async <T>(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, call: Call = {}): Promise<T> =>
    (await this.#send<T>(method, path, call)).answer;

  async #send<T>(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, call: Call) {
    const { config, credentials } = await this.#connected();
    const send = async () => this.#once<T>(config, await credentials.get(), { method, path, call });
    try {
      return await send().catch((error) => {
        if (!(error instanceof Refused) || error.status !== 401) throw error;
        credentials.renew();
        return send();
      });
    } catch (error) {
      if (error instanceof Refused && !isPassing(error.status)) throw error;
      throw new EngineUnreachable(`Kubernetes at ${config.server}: ${whyFailed(error as Error)}`, { cause: error });
    }
  }

  async #once<T>(
    config: Kubeconfig,
    credential: Credential,
    { method, path, call }: { method: "GET" | "POST" | "PATCH" | "DELETE"; path: string; call: Call },
  ): Promise<{ answer: T; now: number; text: string }> {
    const { query = {}, body, type = "application/json" } = call;
    const {
      statusCode,
      headers,
      body: answer,
    } = await request(`${config.server}${path}`, {
      method,
      query,
      dispatcher: this.#agentFor(config, credential),
      headers: {
        accept: "application/json",
        "user-agent": "millrace",
        ...(credential.token === undefined ? {} : { authorization: `Bearer ${credential.token}` }),
        ...(body === undefined ? {} : { "content-type": type }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: this.#calls.limit(),
    });
    const text = await this.#calls.read(answer);
    if (statusCode >= 300) throw new Refused(statusCode, statusIn(text));
    return { answer: JSON.parse(text) as T, now: Date.parse(String(headers["date"])) || Date.now(), text };
  }

  /** The pool of connections. A new client certificate needs new connections. */
  #agentFor(config: Kubeconfig, { certificate }: Credential): Agent {
    const of = hash("sha256", JSON.stringify(certificate ?? null));
    if (this.#agent?.of === of) return this.#agent.agent;
    void this.#agent?.agent.close();
    const { ca, serverName, isVerified } = config;
    const agent = new Agent({
      connections: 16,
      connect: {
        rejectUnauthorized: isVerified,
        ...(ca === undefined ? {} : { ca }),
        ...(serverName === undefined ? {} : { servername: serverName }),
        ...certificate,
      },
    });
    this.#agent = { agent, of };
    return agent;
  }

  /** Reads where the cluster is. What fails is tried again with the next request: an operator may repair it. */
  #connected(): Promise<Connection> {
    this.#connection ??= this.#connect().catch((error: Error) => {
      this.#connection = undefined;
      throw new EngineUnreachable(`The Kubernetes cluster is not known: ${error.message}`, { cause: error });
    });
    return this.#connection;
  }

  async #connect(): Promise<Connection> {
    const { kubeconfig, context, podFolder = usualPodFolder } = this.#access;
    const config = kubeconfig === "" ? await ownCluster(podFolder) : readKubeconfig(kubeconfig, context);
    return { config, credentials: credentialsOf(config) };
  }

  async close(): Promise<void> {
    this.#calls.close();
    await this.#agent?.agent.destroy();
  }
}

const usualPodFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The cluster in which this server is a pod. */
async function ownCluster(folder: string): Promise<Kubeconfig> {
  const [ca, namespace] = await Promise.all(
    ["ca.crt", "namespace"].map((name) => readFile(join(folder, name), "utf8")),
  ).catch(() => {
    throw new Error("it has no kubeconfig, and this server does not run in a pod that may use the API server.");
  });
  return {
    server: "https://kubernetes.default.svc",
    namespace: (namespace ?? "").trim(),
    ca,
    serverName: undefined,
    isVerified: true,
    certificate: undefined,
    token: undefined,
    tokenFile: join(folder, "token"),
    exec: undefined,
  };
}

/** Whether an answer is a list of objects. Anything may answer in the place of an API server. */
const isList = (answer: Partial<KubernetesList<unknown>> | null) =>
  Array.isArray(answer?.items) &&
  answer.items.every((item: { readonly metadata?: unknown } | null) => typeof item?.metadata === "object");

/** Whether a refusal says nothing of the request: the API server is busy, broken, or does not know us. */
const isPassing = (status: number) => status >= 500 || status === 429 || status === 401 || status === 408;

function statusIn(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return { message: text.slice(0, 500) };
  }
}
