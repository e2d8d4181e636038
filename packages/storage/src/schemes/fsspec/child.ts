/**
 * The Python process that runs fsspec. Each interpreter has one process, which is started at the first use. If the
 * process exits, the next use starts a new one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { StorageError } from "../../errors.ts";
import { Call, type Explain, type Line, type RemoteFailure } from "./call.ts";
import { type Frame, FrameReader, frameHeader, kinds } from "./frames.ts";
import { howToInstall } from "./python.ts";

interface Hello {
  /** The version of fsspec. */
  readonly fsspec: string;
  /** The names of fsspec's file systems, including those whose packages are not installed. */
  readonly names: readonly string[];
}

const program = fileURLToPath(new URL("./bridge.py", import.meta.url));
const longestWords = 4096;

const children = new Map<string, Promise<PythonChild>>();

/** Returns the running process of this interpreter, or starts one. If the start fails, the next call tries again. */
export function pythonChild(python: string): Promise<PythonChild> {
  const known = children.get(python);
  if (known) return known;
  const starting = PythonChild.start(python, () => {
    if (children.get(python) === starting) children.delete(python);
  });
  children.set(python, starting);
  return starting;
}

export class PythonChild {
  readonly python: string;
  /** Peak number of received bytes that nobody had read yet. Only tests use it. */
  mostBuffered = 0;
  #hello: Hello | undefined;
  #buffered = 0;
  #process: ChildProcess;
  #calls = new Map<number, Call>();
  #lastNumber = 0;
  #holders = 0;
  #words = "";
  #complaint = "";
  #isEnded = false;

  /** Resolves when the process has reported its versions. */
  static async start(python: string, onEnd: () => void): Promise<PythonChild> {
    const child = new PythonChild(python, onEnd);
    const hello = new Call(0, child.#line, ({ message }) => withoutFsspec(python, message), undefined);
    child.#calls.set(0, hello);
    child.#hello = (await hello.result()) as Hello;
    return child;
  }

  private constructor(python: string, onEnd: () => void) {
    this.python = python;
    this.#process = spawn(python, [program], { stdio: ["pipe", "pipe", "pipe"] });
    const reader = new FrameReader();
    this.#process.stdout?.on("data", (bytes: Buffer) => this.#read(reader, bytes));
    this.#process.stderr?.on("data", (bytes: Buffer) => {
      this.#words = (this.#words + bytes.toString()).slice(-longestWords);
    });
    // Write errors are ignored, because the exit event says more about the cause.
    this.#process.stdin?.on("error", () => {});
    const ended = (why: Error) => {
      onEnd();
      this.#end(why);
    };
    this.#process.once("error", (error) => ended(notStarted(python, error)));
    this.#process.once("exit", () => this.#closePipes());
    this.#process.once("close", (code, signal) => ended(this.#endedBecause(code, signal)));
  }

  get hello(): Hello {
    return this.#hello as Hello;
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends a request. `explain` turns an exception in Python into an error for the caller. */
  begin(request: object, explain: Explain, signal?: AbortSignal): Call {
    signal?.throwIfAborted();
    this.#lastNumber = (this.#lastNumber + 1) % 0xffff_ffff || 1;
    const number = this.#lastNumber;
    const call = new Call(number, this.#line, explain, signal);
    this.#calls.set(number, call);
    if (this.#isEnded) this.#end(this.#endedBecause(null, null));
    else this.#line.write(kinds.request, number, Buffer.from(JSON.stringify(request))).catch(() => {});
    return call;
  }

  readonly #line: Line = {
    write: (kind, number, payload = Buffer.alloc(0)) => this.#write(kind, number, payload),
    hold: () => this.#hold(1),
    release: () => this.#hold(-1),
    buffered: (change) => {
      this.#buffered += change;
      this.mostBuffered = Math.max(this.mostBuffered, this.#buffered);
    },
  };

  #write(kind: number, number: number, payload: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { stdin } = this.#process;
    stdin?.cork();
    stdin?.write(frameHeader(kind, number, payload.length));
    stdin?.write(payload, (error) => (error ? reject(error) : resolve()));
    stdin?.uncork();
    return promise;
  }

  /**
   * Counts running calls. While no call runs, the Python process does not keep this program from exiting. When this
   * program exits, the standard input of the Python process closes, and that process exits too.
   */
  #hold(change: 1 | -1): void {
    this.#holders += change;
    const { stdin, stdout, stderr } = this.#process;
    for (const handle of [this.#process, stdin, stdout, stderr] as (Socket | ChildProcess | null)[]) {
      if (this.#holders > 0) handle?.ref?.();
      else handle?.unref?.();
    }
  }

  #read(reader: FrameReader, bytes: Buffer): void {
    try {
      for (const frame of reader.read(bytes)) this.#take(frame);
    } catch (error) {
      this.#complaint = `it sent an invalid answer (${(error as Error).message})`;
      this.#process.kill("SIGKILL");
    }
  }

  #take(frame: Frame): void {
    const call = this.#calls.get(frame.number);
    call?.take(frame);
    if (frame.kind === kinds.result || frame.kind === kinds.error) this.#calls.delete(frame.number);
  }

  /**
   * Closes the pipes one second after the Python process has exited, because child processes of the Python process may
   * still hold the pipes open.
   */
  #closePipes(): void {
    setTimeout(() => {
      this.#process.stdout?.destroy();
      this.#process.stderr?.destroy();
    }, 1000).unref();
  }

  #endedBecause(code: number | null, signal: NodeJS.Signals | null): StorageError {
    const how = this.#complaint || (signal ? `it was killed by ${signal}` : `it exited with code ${code}`);
    const words = this.#words.trim();
    const last = words === "" ? "" : `. Last output of the ended process: ${words}`;
    const message = `the Python process of fsspec ended: ${how}. Try again: the next call starts a new process${last}`;
    return new StorageError("failed", message);
  }

  #end(error: Error): void {
    this.#isEnded = true;
    for (const call of this.#calls.values()) call.fail(error);
    this.#calls.clear();
  }
}

function notStarted(python: string, error: NodeJS.ErrnoException): StorageError {
  const why = error.code === "ENOENT" ? "the program does not exist" : error.message;
  return new StorageError("config", `${python} could not be started: ${why}. ${howToInstall(python)}`, {
    cause: error,
  });
}

function withoutFsspec(python: string, why: RemoteFailure["message"]): StorageError {
  return new StorageError("config", `${python} cannot import fsspec: ${why}. ${howToInstall(python)}`);
}
