/**
 * Asks the kernel for the users of single connections, through a small Python process: Node has no netlink sockets. It
 * runs only while the kernel's tables of connections are long.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** The process ends after this long without a question, in milliseconds. */
const idleMs = 60_000;
const script = join(import.meta.dirname, "peer-users.py");

interface Waiting {
  readonly resolve: (user: number | "gone") => void;
  readonly reject: (error: Error) => void;
}

export class PeerLookup {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  /** Questions without an answer. Answers come in their order. */
  readonly #waiting: Waiting[] = [];
  readonly #idle: NodeJS.Timeout;

  /** `onEnd` is called when the process has ended: after a while without questions, or because it cannot run here. */
  constructor(onEnd: () => void) {
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
    this.#child = spawn("python3", ["-I", "-S", script], { env, stdio: ["pipe", "pipe", "ignore"] });
    this.#idle = setTimeout(() => this.#child.stdin.end(), idleMs).unref();
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.#waiting.shift()?.resolve(line === "gone" ? line : Number(line));
    });
    this.#child.stdin.on("error", () => {});
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(this.#idle);
      for (const { reject } of this.#waiting.splice(0)) reject(new Error("the lookup of users has ended"));
      onEnd();
    };
    this.#child.once("error", end).once("close", end);
    // Neither the process nor its pipes keep the server alive; without the server, it ends by itself.
    this.#child.unref();
    for (const pipe of [this.#child.stdin, this.#child.stdout]) (pipe as unknown as Socket).unref();
  }

  /** Returns the user id of the process at the other end, or "gone". Throws if the process has ended. */
  of({ remoteAddress, remotePort, localAddress, localPort }: Socket): Promise<number | "gone"> {
    if (remoteAddress === undefined || localAddress === undefined) return Promise.resolve("gone");
    this.#idle.refresh();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${remoteAddress} ${remotePort} ${localAddress} ${localPort}\n`);
    });
  }
}
