/**
 * A real Slurm cluster on this machine: a controller, four nodes and an authentication service of its own, from Debian's
 * packages slurm-wlm and munge. Several clusters can run at the same time.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { skipUnless } from "../programs/program.ts";
import { closedAtEnd } from "./left-open.ts";
import { endProcess } from "./server-process.ts";
import { steadyPorts } from "./steady-ports.ts";

const run = promisify(execFile);

/** Returns false if Slurm can run here, otherwise the reason to skip its tests. */
export const whyNoSlurm = () =>
  skipUnless("Slurm", async () => {
    if (process.getuid?.() !== 0) throw new Error("it needs root, because nodes run jobs in control groups");
    for (const program of ["slurmctld", "slurmd", "munged"]) await run(program, ["-V"], { env: { PATH: path } });
    await run("sh", ["-c", "command -v sbatch"], { env: { PATH: path } });
  });

const path = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** CPUs of a node, as Slurm believes. */
const cpusPerNode = 4;

/** Where Slurm keeps the processes of jobs on control groups of version 1. */
const freezer = "/sys/fs/cgroup/freezer";

export class SlurmCluster {
  /** Path of slurm.conf. */
  readonly configuration: string;
  /** Names of the nodes. The last one has two GPUs, as Slurm believes. */
  readonly nodes: readonly string[];
  readonly stop: () => Promise<void>;
  readonly #folder: string;
  readonly #daemons = new Map<string, ChildProcess>();

  /** Starts a cluster and waits until its nodes are idle. */
  static async start(): Promise<SlurmCluster> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-slurm-"));
    await chmod(folder, 0o755);
    const [controllerPort = 0, ...ports] = await steadyPorts(5);
    // Control groups are named by the node, so names differ between clusters.
    const nodes = ports.map((port) => `node${port}`);
    const cluster = new SlurmCluster(folder, nodes);
    await cluster.#configure(controllerPort, ports);
    try {
      await cluster.#startMunge();
      await cluster.startController();
      for (const node of nodes) cluster.startNode(node);
      await cluster.untilReady();
    } catch (error) {
      const said = await readFile(join(folder, "log"), "utf8").catch(() => "");
      await cluster.stop();
      throw new Error(`Slurm did not start: ${(error as Error).message}\n${said.slice(-2000)}`);
    }
    return cluster;
  }

  private constructor(folder: string, nodes: readonly string[]) {
    this.#folder = folder;
    this.nodes = nodes;
    this.configuration = join(folder, "slurm.conf");
    // A test that dies must not leave a cluster behind.
    const killed = () => this.#killAll();
    process.once("exit", killed);
    this.stop = closedAtEnd(async () => {
      process.off("exit", killed);
      await Promise.all([...this.#daemons.values()].map(endProcess));
      this.#killAll();
    });
  }

  /** Runs one of Slurm's commands and returns what it prints. */
  async command(program: string, ...words: readonly string[]): Promise<string> {
    return (await run(program, words, { env: this.#env })).stdout;
  }

  /** Like `command`, as the user nobody. */
  async commandOfNobody(program: string, ...words: readonly string[]): Promise<string> {
    const nobody = { uid: 65_534, gid: 65_534 };
    return (await run(program, words, { env: this.#env, ...nobody })).stdout;
  }

  get #env() {
    return { PATH: path, SLURM_CONF: this.configuration };
  }

  async startController(): Promise<void> {
    this.#start("slurmctld", ["-D"]);
    while (!(await this.#answers())) {
      if (this.#daemons.get("slurmctld")?.exitCode !== null) throw new Error("slurmctld ended");
      await sleep(20);
    }
  }

  killController = () => this.#kill("slurmctld");

  startNode(node: string): void {
    this.#start("slurmd", ["-D", "-N", node], node);
  }

  /** Starts a node again that the controller was told is down. */
  async restartNode(node: string): Promise<void> {
    this.startNode(node);
    await this.command("scontrol", "update", `NodeName=${node}`, "State=RESUME").catch(async (error) => {
      // The daemon may have registered the node before: then there is nothing to resume.
      if (/down/i.test(await this.command("sinfo", "--noheader", `--nodes=${node}`, "--format=%T"))) throw error;
    });
    await this.untilReady();
  }

  /** Kills a node's daemon. Its jobs go on. */
  killDaemon = (node: string) => this.#kill(node);

  /** Kills a node: its daemon and everything that runs on it. The controller does not know it yet. */
  async killNode(node: string): Promise<void> {
    await this.#kill(node);
    this.#killJobs(node);
  }

  /** Restarts the controller as if it had lost its files: it knows of no job. Starts these nodes again, too. */
  async forgetAll(...nodes: readonly string[]): Promise<void> {
    await this.killController();
    for (const node of nodes) this.startNode(node);
    rmSync(join(this.#folder, "state"), { recursive: true });
    await mkdir(join(this.#folder, "state"));
    await this.startController();
    await this.untilReady();
  }

  /** When the controller last wrote what it knows of jobs, in milliseconds since the Unix epoch. */
  savedAt = () => statSync(join(this.#folder, "state/job_state"), { throwIfNoEntry: false })?.mtimeMs ?? 0;

  /** Waits until all nodes are idle. */
  async untilReady(): Promise<void> {
    const deadline = Date.now() + 60_000;
    for (let seen = ""; seen.trim() !== `${this.nodes.length} idle`; await sleep(20)) {
      if (Date.now() > deadline) throw new Error(`the nodes are not idle after a minute: ${seen}`);
      seen = await this.command("sinfo", "--noheader", "--format=%D %t", "--partition=usual").catch(() => "");
    }
  }

  /** Processes of a node's jobs, except for those of Slurm itself. */
  jobProcesses = (node: string): number[] => tree(join(freezer, `slurm_${node}`)).flatMap(processesIn);

  async #configure(controllerPort: number, ports: readonly number[]): Promise<void> {
    for (const name of ["state", "spool", "munge"]) await mkdir(join(this.#folder, name), { mode: 0o755 });
    const nodeLines = this.nodes.map((node, index) => {
      const gpus = index === this.nodes.length - 1 ? " Gres=gpu:2" : "";
      const place = `NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=${ports[index]}`;
      return `NodeName=${node} ${place} CPUs=${cpusPerNode} RealMemory=1000${gpus} State=UNKNOWN\n`;
    });
    const last = this.nodes.at(-1);
    // Any devices will do: nothing opens them.
    const gpus = ["/dev/zero", "/dev/full"].map((file) => `NodeName=${last} Name=gpu File=${file}\n`);
    await writeFile(this.configuration, settings(this.#folder, controllerPort) + nodeLines.join("") + partitions);
    await writeFile(join(this.#folder, "gres.conf"), gpus.join(""));
    // Version 2 is not tried here: the machines that this was written on have version 1.
    await writeFile(join(this.#folder, "cgroup.conf"), existsSync(freezer) ? "" : "IgnoreSystemd=yes\n");
  }

  async #startMunge(): Promise<void> {
    const at = (name: string) => join(this.#folder, "munge", name);
    await writeFile(at("key"), randomBytes(128), { mode: 0o600 });
    const files = ["key", "pid", "log", "seed"].map((name) => `--${name}-file=${at(name)}`);
    this.#start("munged", ["--foreground", "--num-threads=2", `--socket=${at("socket")}`, ...files]);
    while (!existsSync(at("socket"))) await sleep(5);
  }

  #start(program: string, words: readonly string[], name = program): void {
    const child = spawn(program, words, { env: this.#env, stdio: "ignore" });
    this.#daemons.set(name, child);
  }

  async #kill(name: string): Promise<void> {
    const child = this.#daemons.get(name);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  #answers = () =>
    this.command("scontrol", "ping").then(
      (answer) => answer.includes("UP"),
      () => false,
    );

  #killAll(): void {
    for (const child of this.#daemons.values()) child.kill("SIGKILL");
    for (const node of this.nodes) this.#killJobs(node);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Kills the processes of a node's jobs, then Slurm's own ones for them, until none is left. */
  #killJobs(node: string): void {
    const group = join(freezer, `slurm_${node}`);
    for (let left = true; left; ) {
      const pids = [...tree(group).flatMap(processesIn), ...stepsOf(this.configuration, node)];
      for (const pid of pids) signalIfAlive(pid);
      left = pids.length > 0;
    }
    for (const folder of tree(group)) rmdirSync(folder);
  }
}

const settings = (folder: string, port: number) => `ClusterName=millrace
SlurmctldHost=${hostname()}(127.0.0.1)
SlurmctldPort=${port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${folder}/munge/socket
CredType=cred/munge
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool/%n
SlurmctldPidFile=${folder}/controller.pid
SlurmdPidFile=${folder}/%n.pid
SlurmctldLogFile=${folder}/log
SlurmdLogFile=${folder}/%n.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=50
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0
MpiDefault=none
SwitchType=switch/none
GresTypes=gpu
`;

const partitions = `PartitionName=usual Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=closed Nodes=ALL MaxTime=10 State=DOWN
`;

/** A folder and all folders in it, the deepest first; nothing if it does not exist. */
function tree(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...inside.flatMap((entry) => tree(join(folder, entry.name))), folder];
}

const processesIn = (group: string): number[] =>
  textOf(join(group, "cgroup.procs"))
    .split("\n")
    .filter((line) => line !== "")
    .map(Number);

/** Slurm's own processes for the steps of a node's jobs. Their command line is a title, their environment is not. */
function stepsOf(configuration: string, node: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => textOf(`/proc/${pid}/comm`).startsWith("slurmstepd"))
    .filter((pid) => textOf(`/proc/${pid}/environ`).split("\0").includes(`SLURM_CONF=${configuration}`))
    .filter((pid) => node === "" || textOf(`/proc/${pid}/environ`).includes(node))
    .map(Number);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function signalIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
