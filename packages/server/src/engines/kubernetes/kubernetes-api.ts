/** Requests to the API server of a Kubernetes cluster. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent, request } from "undici";
import { EngineUnreachable } from "../engine.ts";
import { answerText } from "../runners/cluster-answers.ts";
import { type Credential, type Credentials, credentialsOf } from "./credentials.ts";
import { type Kubeconfig, readKubeconfig } from "./kubeconfig.ts";
import type { KubernetesList, Status } from "./objects.ts";

/** The API server refuses a request; `status` is its HTTP status and `reason` its own short word for why. */
export class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, { reason = "", message = "" }: Status) {
    super(message || `the API server answered ${status}`);
    this.status = status;
    this.reason = reason;
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

/** Milliseconds that a request may take. */
const patienceMs = 30_000;

/** Objects in one page of a list. */
const pageSize = 500;

/** The most pages of a list, whatever their size: an API server that always names another one would never end. */
const mostPages = 400;

/** Milliseconds that all pages of a list may take. */
const listMs = 120_000;

/** A list is read from its beginning again at most this often, if its pages expire. */
const mostRestarts = 3;

export class KubernetesApi {
  readonly #access: ApiAccess;
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
    for (let pages = 0; pages < mostPages && performance.now() - began < listMs; pages++) {
      const page = { ...query, limit: String(pageSize), ...(next === "" ? {} : { continue: next }) };
      const { answer, now } = await this.#send<KubernetesList<T>>("GET", path, { query: page });
      items.push(...answer.items);
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
      const { message } = error as Error;
      throw new EngineUnreachable(`Kubernetes at ${config.server}: ${message}`, { cause: error });
    }
  }

  async #once<T>(
    config: Kubeconfig,
    credential: Credential,
    { method, path, call }: { method: "GET" | "POST" | "PATCH" | "DELETE"; path: string; call: Call },
  ): Promise<{ answer: T; now: number }> {
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
      signal: AbortSignal.timeout(patienceMs),
    });
    const text = await answerText(answer);
    if (statusCode >= 300) throw new Refused(statusCode, statusIn(text));
    return { answer: JSON.parse(text) as T, now: Date.parse(String(headers["date"])) || Date.now() };
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

  /** Ends also what is under way. */
  close = async (): Promise<void> => this.#agent?.agent.destroy();
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

/** Whether a refusal says nothing of the request: the API server is busy, broken, or does not know us. */
const isPassing = (status: number) => status >= 500 || status === 429 || status === 401 || status === 408;

function statusIn(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return { message: text.slice(0, 500) };
  }
}
