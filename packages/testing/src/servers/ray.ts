/** A real Ray cluster on this machine: a head and further nodes, each with its own processes. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { programIn, whyNoVirtualenv } from "../programs/virtualenv.ts";
import { closedAtEnd } from "./left-open.ts";
import { freePort } from "./server-process.ts";

const run = promisify(execFile);

const virtualenv = { name: "ray-2.60.0", requirement: "ray[default]==2.60.0" } as const;

/** Returns false if Ray is available, otherwise the reason to skip its tests. */
export const whyNoRay = () => whyNoVirtualenv(virtualenv);

/** The Python in which Ray is installed. */
export const rayPython = () => programIn(virtualenv, "python3");

/** The variable that marks the processes of a node: Ray passes it on to everything that it starts. */
const mark = "MILLRACE_TEST_RAY_NODE";

export interface RayClusterOptions {
  readonly token: string;
  readonly cpusPerNode?: number;
  /** Number of nodes besides the head. */
  readonly nodes?: number;
  /** Further variables of Ray's processes. */
  readonly environment?: Readonly<Record<string, string>>;
}

export class RayCluster {
  readonly address: string;
  readonly token: string;
  readonly #folder: string;
  readonly #ports: { readonly store: number; readonly dashboard: number };
  readonly #options: RayClusterOptions;
  readonly stop: () => Promise<void>;

  static async start(options: RayClusterOptions): Promise<RayCluster> {
    // Ray puts sockets below this folder, and the path of a socket has at most 107 bytes.
    const folder = await mkdtemp(join(tmpdir(), "ray-"));
    const cluster = new RayCluster(folder, { store: await freePort(), dashboard: await freePort() }, options);
    try {
      await cluster.startHead();
      const others = Array.from({ length: options.nodes ?? 0 }, (_, index) => cluster.startNode(index + 1));
      await Promise.all(others);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  private constructor(folder: string, ports: { store: number; dashboard: number }, options: RayClusterOptions) {
    this.#folder = folder;
    this.#ports = ports;
    this.#options = options;
    this.address = `http://127.0.0.1:${ports.dashboard}`;
    this.token = options.token;
    // A test that dies must not leave a cluster behind.
    const killed = () => this.pids().forEach(killNow);
    process.once("exit", killed);
    this.stop = closedAtEnd(async () => {
      process.off("exit", killed);
      await this.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  async startHead(): Promise<void> {
    const { store, dashboard } = this.#ports;
    await this.#start(0, [
      ...["--head", `--port=${store}`, `--temp-dir=${this.#folder}`, "--include-dashboard=true"],
      ...[
        "--dashboard-host=127.0.0.1",
        `--dashboard-port=${dashboard}`,
        `--ray-client-server-port=${await freePort()}`,
      ],
    ]);
    for (let attempt = 0; !(await this.#answers()); attempt++) {
      if (attempt === 600) throw new Error("the head of the Ray cluster does not answer after a minute");
      await pause(100);
    }
  }

  /** Starts a further node, with an address of its own. */
  startNode = (index: number): Promise<void> =>
    this.#start(index, [`--address=127.0.0.1:${this.#ports.store}`, `--node-ip-address=127.0.0.${index + 1}`]);

  /** Starts a node. Ray waits for its own processes for half a minute only, which a busy machine may exceed. */
  async #start(node: number, words: readonly string[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#startOnce(node, words);
      } catch (error) {
        await this.killRay(node);
        const { stderr = "", message } = error as Error & { stderr?: string };
        if (attempt === 4) throw new Error(`ray start failed: ${stderr.trim().split("\n").at(-1) || message}`);
      }
    }
  }

  async #startOnce(node: number, words: readonly string[]): Promise<void> {
    const { token, cpusPerNode = 2, environment = {} } = this.#options;
    // A job that asks for the resource `node1` runs on that node.
    const own = [`--num-cpus=${cpusPerNode}`, `--resources={"node${node}": 100}`];
    const usual = [...own, "--object-store-memory=80000000", "--disable-usage-stats"];
    // Any free port for workers and agents: several clusters run beside each other.
    const ports = ["--min-worker-port=0", "--max-worker-port=0", `--dashboard-agent-listen-port=${await freePort()}`];
    const bin = dirname(rayPython());
    await run(join(bin, "ray"), ["start", ...words, ...usual, ...ports], {
      env: {
        ...process.env,
        PATH: `${bin}${delimiter}${process.env["PATH"]}`,
        RAY_AUTH_MODE: "token",
        RAY_AUTH_TOKEN: token,
        [mark]: this.#name(node),
        ...environment,
      },
    });
  }

  #name = (node: number) => `${this.#folder}#${node}`;

  async #answers(): Promise<boolean> {
    const headers = { authorization: `Bearer ${this.token}` };
    // Unlike the Jobs API, this page accepts what `fetch` sends.
    const answer = await fetch(`${this.address}/api/version`, { headers }).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.status === 200;
  }

  /** Pids of the processes of a node, or of all nodes. */
  pids(node?: number): number[] {
    const wanted = node === undefined ? `${mark}=${this.#folder}#` : `${mark}=${this.#name(node)}\0`;
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => `${environmentOf(name)}\0`.includes(wanted))
      .map(Number);
  }

  /** Kills the processes of a node, or of all nodes, until none is left. */
  kill = (node?: number): Promise<void> => killAll(() => this.pids(node));

  /** Kills Ray's own processes on a node, but neither its jobs nor the shells that watch over them. */
  killRay = (node: number): Promise<void> =>
    killAll(() => this.pids(node).filter((pid) => !/keeper\.py|runner\.py|kill -s 0|^sleep/.test(commandOf(pid))));
}

async function killAll(find: () => number[]): Promise<void> {
  for (let pids = find(); pids.length > 0; pids = find()) {
    for (const pid of pids) killNow(pid);
    await pause(50);
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
