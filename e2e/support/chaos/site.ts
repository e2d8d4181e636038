/** One server with three engines: this machine, a real Slurm cluster of four nodes, and a real Kubernetes cluster. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, routes } from "@millrace/contract";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { jobsNamespace, makeNamespace } from "@millrace/testing/servers/kubernetes/jobs-namespace.ts";
import { Kubernetes } from "@millrace/testing/servers/kubernetes/kubernetes.ts";
import { SlurmCluster } from "@millrace/testing/servers/slurm.ts";
import { CuttingProxy } from "../cutting-proxy.ts";

export class Site {
  readonly server: TestServer;
  readonly slurm: SlurmCluster;
  readonly kubernetes: Kubernetes;
  readonly client: Client;
  readonly #gateway: CuttingProxy;

  static async start(): Promise<Site> {
    const [slurm, kubernetes] = await Promise.all([SlurmCluster.start(), Kubernetes.start()]);
    // The server listens on this machine only; pods reach it here.
    const gateway = await CuttingProxy.start(0, kubernetes.hostAddress);
    const server = await TestServer.start({
      env: {
        MILLRACE_PUBLIC_URL: gateway.url,
        MILLRACE_MAX_WORKERS: "4",
        // Its own user ids: other tests on this machine may take all of the usual ones.
        MILLRACE_JOB_UIDS: "64000-64199",
        MILLRACE_LOG_LEVEL: "warn",
        MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1",
        MILLRACE_WEBHOOK_RETRY: "1",
      },
    });
    gateway.pointAt(server.port);
    const site = new Site(server, slurm, kubernetes, await server.client(), gateway);
    await site.#addClusters();
    return site;
  }

  private constructor(
    server: TestServer,
    slurm: SlurmCluster,
    kubernetes: Kubernetes,
    client: Client,
    gateway: CuttingProxy,
  ) {
    this.server = server;
    this.slurm = slurm;
    this.kubernetes = kubernetes;
    this.client = client;
    this.#gateway = gateway;
  }

  async #addClusters(): Promise<void> {
    const usual = { teams: ["main"], max_workers: 8 };
    const slurm = { slurm_conf: this.slurm.configuration, python: "/usr/bin/python3", lease_seconds: 60 };
    await this.client.call(routes.createCluster, { body: { name: "slurm", engine: "slurm", ...usual, slurm } });
    const kubernetes = {
      image: "local.test/python:1",
      image_pull_policy: "Never" as const,
      resources: { cpu: "10m", memory: "256Mi" },
      lease_seconds: 60,
    };
    const secrets = { kubeconfig: await makeNamespace(this.kubernetes) };
    await this.client.call(routes.createCluster, {
      body: { name: "kubernetes", engine: "kubernetes", ...usual, kubernetes, secrets },
    });
  }

  /** Attempts that Slurm has, or may have, with their numbers there. Readable while no server runs. */
  attemptsOnSlurm(): Map<string, string> {
    const folder = join(this.server.dataDir, "jobs");
    const has = (key: string, name: string) => existsSync(join(folder, key, name));
    const open = readdirSync(folder).filter((key) => has(key, "code") && !has(key, "end"));
    // A server that was killed may not have noted the number. On Kubernetes it is none.
    const number = (key: string) => (has(key, "placed") ? readFileSync(join(folder, key, "placed"), "utf8") : "");
    return new Map(open.map((key) => [key, number(key)] as const).filter(([, handle]) => /^\d*$/.test(handle)));
  }

  /** Whether a runner has claimed the attempt. Readable while no server runs. */
  isClaimed = (key: string) => existsSync(join(this.server.dataDir, "jobs", key, "claim"));

  /** Names of everything that the clusters still have of jobs. */
  async left(): Promise<string[]> {
    const inQueue = (await this.slurm.command("squeue", "--noheader", "--format=%j %T")).split("\n");
    const paths = [
      `/apis/batch/v1/namespaces/${jobsNamespace}/jobs`,
      ...["pods", "secrets"].map((kind) => `/api/v1/namespaces/${jobsNamespace}/${kind}`),
    ];
    const lists = await Promise.all(paths.map((path) => this.kubernetes.request<Listed>("GET", path)));
    const named = lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind ?? ""} ${metadata.name}`));
    return [...inQueue, ...named.filter((name) => !name.endsWith(" millrace-token"))].filter((name) => name !== "");
  }

  async stop(): Promise<void> {
    await this.server.dispose();
    await this.#gateway.stop();
    await Promise.all([this.slurm.stop(), this.kubernetes.stop()]);
  }
}

interface Listed {
  readonly items: readonly { readonly kind?: string; readonly metadata: { readonly name: string } }[];
}
