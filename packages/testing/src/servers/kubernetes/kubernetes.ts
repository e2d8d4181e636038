/**
 * A real Kubernetes cluster with one node on this machine: etcd, API server, controllers, scheduler, kubelet, containerd
 * and runc. Its programs run in namespaces of their own, so that several clusters can run at the same time.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { cniPlugins, kubernetesImages, kubernetesProgram } from "../../programs/kubernetes/kubernetes.ts";
import { closedAtEnd } from "../left-open.ts";
import { Authority } from "./certificates.ts";
import {
  containerdConfiguration,
  kernelSettings,
  kubeletConfiguration,
  type NodePlace,
  podNetwork,
} from "./node-files.ts";
import { NodeShell } from "./node-shell.ts";

const run = promisify(execFile);

/** Programs of the cluster that can be killed and started again. */
export type Program =
  | "containerd"
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kubelet";

export const nodeName = "node-1";

const controllers = [
  ...[
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "resourcequota-controller",
    "job-controller",
  ],
  ...["garbage-collector-controller", "ttl-after-finished-controller", "pod-garbage-collector-controller"],
  ...["node-lifecycle-controller", "taint-eviction-controller"],
];

export class Kubernetes {
  readonly #place: NodePlace;
  readonly #shell: NodeShell;
  readonly authority: Authority;
  readonly server: string;
  readonly #pids = new Map<Program, number>();
  #admin: Awaited<ReturnType<typeof adminOf>> = () => Promise.reject(new Error("the cluster has not started"));
  readonly stop: () => Promise<void>;

  static async start(): Promise<Kubernetes> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-kubernetes-"));
    const shell = await NodeShell.open();
    await mkdir(join(folder, "pki"));
    const authority = await Authority.make(join(folder, "pki"));
    const cluster = new Kubernetes({ folder, group: basename(folder), shell, cniPlugins }, authority);
    try {
      await cluster.#prepare();
      await cluster.#start();
    } catch (error) {
      const logs = await cluster.#ends();
      await cluster.stop();
      throw new Error(`Kubernetes did not start: ${(error as Error).message}\n${logs}`, { cause: error });
    }
    return cluster;
  }

  private constructor(place: NodePlace, authority: Authority) {
    this.#place = place;
    this.#shell = place.shell;
    this.authority = authority;
    this.server = `https://${place.shell.address}:6443`;
    this.stop = closedAtEnd(() => this.#stop());
  }

  /** Address of this machine, as pods reach it. */
  get hostAddress(): string {
    return this.#shell.hostAddress;
  }

  async #prepare(): Promise<void> {
    const { folder, group } = this.#place;
    for (const name of ["cni", "etcd", "kernel", "log"]) await mkdir(join(folder, name));
    const alternatives = `IP:${this.#shell.address},IP:127.0.0.1,DNS:kubernetes.default.svc`;
    await this.authority.sign("apiserver", "/CN=kube-apiserver", alternatives);
    await this.authority.sign("admin", "/O=system:masters/CN=admin");
    await run("openssl", ["genrsa", "-out", this.authority.path("accounts.key"), "2048"]);
    this.#admin = await adminOf(this.authority, this.server);
    await writeFile(join(folder, "admin.json"), await this.authority.kubeconfig("admin", this.server));
    await writeFile(join(folder, "kubelet.json"), JSON.stringify(kubeletConfiguration(this.#place)));
    await writeFile(join(folder, "cni/10-pods.conflist"), JSON.stringify(podNetwork(this.#place)));
    await writeFile(join(folder, "containerd.toml"), containerdConfiguration(this.#place));
    for (const [name, value] of Object.entries(kernelSettings)) {
      const file = join(folder, "kernel", basename(name));
      await writeFile(file, `${value}\n`);
      await this.#shell.run(`mount --bind ${file} /proc/sys/${name}`);
    }
    for (const controller of await controlGroups()) await makeGroup(controller, group);
  }

  async #start(): Promise<void> {
    await this.startProgram("containerd");
    await this.startProgram("etcd");
    await this.startProgram("kube-apiserver");
    await this.#until("the API server", () => this.request("GET", "/version"));
    const images = `ctr -a ${this.#place.folder}/containerd.sock -n k8s.io images import ${kubernetesImages}`;
    await this.#shell.run(images);
    for (const program of ["kube-controller-manager", "kube-scheduler", "kubelet"] as const)
      await this.startProgram(program);
    await this.untilReady();
    await this.#until("the service account", () =>
      this.request("GET", "/api/v1/namespaces/default/serviceaccounts/default"),
    );
  }

  /** Waits until pods can run on the node. */
  async untilReady(): Promise<void> {
    await this.#until("the node", async () => {
      const { status } = await this.request<Node>("GET", `/api/v1/nodes/${nodeName}`);
      return status.conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
    });
  }

  /** Starts a program that is not running. */
  async startProgram(program: Program): Promise<void> {
    const log = join(this.#place.folder, "log", program);
    const before = existsSync(log) ? (await readFile(log)).length : 0;
    this.#pids.set(program, await this.#shell.start(this.#words(program), log));
    // A kubelet that starts before containerd is ready ends at once.
    if (program === "containerd")
      await this.#until("containerd", async () =>
        (await readFile(log)).subarray(before).includes("Start streaming server"),
      );
  }

  /** Kills a program, and waits until it has ended. Containers outlive containerd and kubelet. */
  async kill(program: Program): Promise<void> {
    const pid = this.#pids.get(program);
    await this.#shell.run(
      `kill -9 ${pid}; while [ -d /proc/${pid} ] && ! grep -q '^State:.Z' /proc/${pid}/status; do sleep 0.05; done`,
    );
  }

  /** Kills everything on the node except the programs that control the cluster, as if its machine had died. */
  async killNode(): Promise<void> {
    await this.kill("kubelet");
    await this.kill("containerd");
    await this.#shell.run("pkill -9 -f containerd-shim || true");
    const groups = `find /sys/fs/cgroup/pids/${this.#place.group} -name cgroup.procs -exec cat {} +`;
    await this.#shell.run(`for pid in $(${groups}); do kill -9 $pid 2>/dev/null; done; true`);
  }

  /** Sends a request with the rights of an administrator. The body is sent as YAML, of which JSON is a part. */
  request = <T = unknown>(method: string, path: string, body?: string): Promise<T> => this.#admin(method, path, body);

  #words(program: Program): string[] {
    const { folder } = this.#place;
    const config = `--kubeconfig=${folder}/admin.json`;
    const pki = (name: string) => `${folder}/pki/${name}`;
    const quiet = ["--leader-elect=false", "--bind-address=127.0.0.1", `--cert-dir=${folder}/pki`];
    const kubernetes = (...words: string[]) => [kubernetesProgram, program, ...words];
    switch (program) {
      case "containerd":
        return ["containerd", "-c", `${folder}/containerd.toml`];
      case "etcd":
        return ["etcd", `--data-dir=${folder}/etcd`, "--unsafe-no-fsync"];
      case "kube-apiserver":
        return kubernetes(
          ...["--etcd-servers=http://127.0.0.1:2379", "--secure-port=6443", "--authorization-mode=RBAC"],
          ...[`--bind-address=${this.#shell.address}`, `--advertise-address=${this.#shell.address}`],
          ...[`--tls-cert-file=${pki("apiserver.crt")}`, `--tls-private-key-file=${pki("apiserver.key")}`],
          ...[`--client-ca-file=${pki("ca.crt")}`, "--service-cluster-ip-range=10.0.0.0/24"],
          ...[`--service-account-key-file=${pki("accounts.key")}`, "--kubelet-preferred-address-types=InternalIP"],
          ...[`--service-account-signing-key-file=${pki("accounts.key")}`, `--cert-dir=${folder}/pki`],
          ...["--service-account-issuer=https://kubernetes.default.svc"],
          ...[`--kubelet-client-certificate=${pki("admin.crt")}`, `--kubelet-client-key=${pki("admin.key")}`],
        );
      case "kube-controller-manager":
        return kubernetes(
          ...[config, ...quiet, `--controllers=${controllers.join(",")}`, "--concurrent-resource-quota-syncs=2"],
          ...[`--service-account-private-key-file=${pki("accounts.key")}`, "--resource-quota-sync-period=10s"],
        );
      case "kube-scheduler":
        return kubernetes(
          config,
          ...quiet,
          `--authentication-${config.slice(2)}`,
          `--authorization-${config.slice(2)}`,
        );
      case "kubelet":
        return kubernetes(
          ...[
            `--config=${folder}/kubelet.json`,
            config,
            `--root-dir=${folder}/kubelet`,
            `--node-ip=${this.#shell.address}`,
          ],
          ...[`--cert-dir=${folder}/kubelet-pki`, `--hostname-override=${nodeName}`],
        );
    }
  }

  async #until(what: string, isReady: () => Promise<unknown>): Promise<void> {
    let last: unknown;
    for (let tries = 0; tries < 600; tries++) {
      try {
        if ((await isReady()) !== false) return;
      } catch (error) {
        last = error;
      }
      await pause(200);
    }
    throw new Error(`${what} is not ready after two minutes: ${last}`);
  }

  /** The last lines of all logs, for the message of a failed start. */
  async #ends(): Promise<string> {
    const logs = join(this.#place.folder, "log");
    const names = existsSync(logs) ? await readdir(logs) : [];
    const ends = names.map(async (name) => {
      const text = await readFile(join(logs, name), "utf8");
      return `${name}: ${text.trim().split("\n").slice(-3).join("\n  ")}`;
    });
    return (await Promise.all(ends)).join("\n");
  }

  async #stop(): Promise<void> {
    const { folder, group } = this.#place;
    await this.#shell.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    // Where both versions of control groups are mounted, the containers made a group in the newer one, too.
    for (const controller of [...(await controlGroups()), join(groups, "unified")])
      await removeGroup(join(controller, group));
  }
}

interface Node {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

/** Returns a function that sends requests as an administrator of the cluster. */
async function adminOf(authority: Authority, server: string) {
  const [ca, cert, key] = await Promise.all(["ca.crt", "admin.crt", "admin.key"].map(authority.read));
  const files = { ca, cert, key } as { ca: string; cert: string; key: string };
  return async <T>(method: string, path: string, body?: string): Promise<T> => {
    const headers = body === undefined ? {} : { "content-type": "application/yaml" };
    const asked = request(`${server}${path}`, { ...files, method, headers, agent: false, timeout: 10_000 });
    asked.end(body);
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const said = await text(answer);
    if ((answer.statusCode ?? 500) >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${said}`);
    return JSON.parse(said) as T;
  };
}

const groups = "/sys/fs/cgroup";

/** Folders in which control groups are made: one for each controller, or one for all in version 2. */
async function controlGroups(): Promise<string[]> {
  if (existsSync(join(groups, "cgroup.controllers"))) return [groups];
  return (await readdir(groups)).filter((name) => name !== "unified").map((name) => join(groups, name));
}

async function makeGroup(controller: string, name: string): Promise<void> {
  await mkdir(join(controller, name));
  for (const file of ["cpuset.cpus", "cpuset.mems"])
    if (existsSync(join(controller, file)) && controller !== groups)
      await writeFile(join(controller, name, file), await readFile(join(controller, file)));
}

async function removeGroup(path: string): Promise<void> {
  if (!existsSync(path)) return;
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroup(join(path, entry.name));
  // A group stays busy for a moment after its last process has ended.
  for (let tries = 0; ; tries++)
    try {
      return await rmdir(path);
    } catch (error) {
      if (tries === 100) throw error;
      await pause(50);
    }
}
