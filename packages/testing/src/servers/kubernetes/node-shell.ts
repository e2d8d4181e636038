/**
 * A shell in its own network, mount and process namespaces, in which the programs of a node run. When it ends, the
 * kernel ends all of them, their containers and their mounts; and it ends when this process does, however that happens.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Folders of the machine that programs of the node write to. The node has its own. */
const ownFolders = ["/run", "/var/lib/cni", "/var/lib/kubelet"];

export class NodeShell {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #link: string;
  /** Address of this machine, as the node sees it. */
  readonly hostAddress: string;
  readonly address: string;
  /** First two bytes of the addresses of pods, and the number of the node. */
  readonly podNetwork: string;

  static async open(): Promise<NodeShell> {
    const words = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "slave", "bash", "-s"];
    const child = spawn("unshare", words, { stdio: ["pipe", "pipe", "ignore"] });
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const number = await connect(await firstLine(child, lines));
    const shell = new NodeShell(child, lines, number);
    await shell.#prepare();
    return shell;
  }

  private constructor(child: ChildProcess, lines: Interface, number: number) {
    this.#child = child;
    this.#lines = lines;
    this.#link = linkName(number);
    this.hostAddress = `198.18.${number}.1`;
    this.address = `198.18.${number}.2`;
    this.podNetwork = `198.19.${number}`;
  }

  async #prepare(): Promise<void> {
    await this.run(`ip addr add ${this.address}/30 dev eth0 && ip link set eth0 up && ip link set lo up`);
    await this.run(`ip route add default via ${this.hostAddress} && echo 1 >/proc/sys/net/ipv4/ip_forward`);
    for (const folder of ownFolders) await this.run(`mkdir -p ${folder} && mount -t tmpfs node ${folder}`);
    // On this machine: the way to the pods.
    await run("ip", ["addr", "add", `${this.hostAddress}/30`, "dev", this.#link]);
    await run("ip", ["link", "set", this.#link, "up"]);
    await run("ip", ["route", "add", `${this.podNetwork}.0/24`, "via", this.address]);
  }

  /** Runs a command line and returns its output. Programs that it starts in the background keep running. */
  async run(line: string): Promise<string> {
    const mark = `end-of-command-${Math.random()}`;
    const said: string[] = [];
    const ended = Promise.withResolvers<number>();
    const read = (text: string) =>
      text.startsWith(mark) ? ended.resolve(Number(text.slice(mark.length))) : void said.push(text);
    const gone = () => ended.reject(new Error(`the shell of the node ended before: ${line}`));
    this.#lines.on("line", read);
    this.#child.once("exit", gone);
    this.#child.stdin?.write(`{ ${line}\n} 2>&1; echo "${mark}$?"\n`);
    const code = await ended.promise.finally(() => {
      this.#lines.off("line", read);
      this.#child.off("exit", gone);
    });
    if (code !== 0) throw new Error(`${line}: exit code ${code}: ${said.join(" ")}`);
    return said.join("\n");
  }

  /** Starts a program in the background, with its output in a file, and returns its pid in the node. */
  start = async (words: readonly string[], log: string): Promise<number> =>
    Number(await this.run(`${words.map(quote).join(" ")} >>${quote(log)} 2>&1 </dev/null & echo $!`));

  async close(): Promise<void> {
    const ended = once(this.#child, "exit");
    // Without input the shell ends, and with it, as the first process of its namespace, all others.
    this.#child.stdin?.end();
    await ended;
    await run("ip", ["link", "delete", this.#link]).catch(() => {});
  }
}

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
const linkName = (number: number) => `millrace-k8s${number}`;

/** Returns the pid of the shell, as this machine sees it. */
async function firstLine(child: ChildProcess, lines: Interface): Promise<number> {
  child.stdin?.write("echo up\n");
  await once(lines, "line");
  const { stdout } = await run("ps", ["--ppid", String(child.pid), "-o", "pid="]);
  return Number(stdout);
}

/** Connects the node to this machine by a pair of network devices. Their name belongs to one node at a time. */
async function connect(pid: number): Promise<number> {
  for (let number = 0; number < 200; number++) {
    const words = ["link", "add", linkName(number), "type", "veth", "peer", "name", "eth0", "netns", String(pid)];
    const isMade = await run("ip", words).then(
      () => true,
      () => false,
    );
    if (isMade) return number;
  }
  throw new Error("no network device could be made for the node");
}
