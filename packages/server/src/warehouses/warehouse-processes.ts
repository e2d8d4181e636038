/**
 * Starts the short-lived child processes that read and change a team's warehouse. Jobs can write anything to a
 * warehouse, so the child has the warehouse's own permissions, little memory and time, and no access to the server's
 * data.
 */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { chmod, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import type { StrangersPlace, WarehouseView } from "../engines/warehouse-view.ts";
import { busyExit, unusableExit } from "./exit-codes.ts";
import { type WarehouseFolder, warehouseFiles } from "./warehouse-folder.ts";

/** Returns the command prefix for a sandbox in which one of our own programs can access only the paths in `view`. */
export type Confine = (view: WarehouseView) => string[];

/** Creates a sandbox for a command that may run the team's code. */
export type ConfineStrangers = (view: WarehouseView) => StrangersPlace;

/** Thrown if the team's warehouse cannot be read or changed. The message is shown to the team. */
export class WarehouseUnusable extends Error {}

/** Thrown if the warehouse cannot be used right now; a retry may succeed. */
export class WarehouseBusy extends WarehouseUnusable {}

export interface Task {
  /** Name of one of the programs in child.ts. */
  readonly program: string;
  /** Input of the program. */
  readonly request: unknown;
  /** Further folders that the program may write to. */
  readonly writable?: readonly string[];
  /** Folder of the warehouse's files; undefined means the team's current warehouse. */
  readonly data?: string;
  /** Time limit in seconds. */
  readonly seconds: number;
  /**
   * Maximum length of a file that the program writes, in bytes. Without this limit, copying a manipulated warehouse
   * could fill the disk.
   */
  readonly longestFile?: number;
}

const fromSource = import.meta.filename.endsWith(".ts");
const packageRoot = join(import.meta.dirname, fromSource ? "../.." : "..");
const contractRoot = join(fileURLToPath(import.meta.resolve("@millrace/contract")), "../..");
const script = join(import.meta.dirname, fromSource ? "child.ts" : "child.js");
/** Maximum size in bytes of a child's answer that is parsed at once. The answers for a valid warehouse are smaller. */
const answerBytes = 16 * 1024 * 1024;
/**
 * Maximum size in bytes of a child's answer that is parsed line by line. The answers for a valid warehouse are smaller.
 */
const linesBytes = 64 * 1024 * 1024;
/** Maximum number of characters of a command's output that are kept. */
const saidLength = 4000;
const childOptions = [
  "--max-old-space-size=512",
  "--no-warnings",
  ...(fromSource ? ["--conditions=millrace-source"] : []),
];

/** Seconds that a spare child (see `expect`) waits for a task before it is killed. */
const spareSeconds = 15;
/** A task with a longer time limit than this, in seconds, gets a new child instead of the spare one. */
const longestTask = 120;

/**
 * Returns a command prefix that limits a child's memory to 2 GB (ulimit counts KiB) and the length of files that it
 * writes (ulimit counts blocks of 512 bytes).
 */
const withLimits = (longestFile: number | undefined) => {
  const file = longestFile === undefined ? "unlimited" : Math.ceil(longestFile / 512);
  return ["/bin/sh", "-c", `ulimit -d 2000000; ulimit -f ${file}; exec "$@"`, "sh"];
};

/** Returns the folders of the child's code and of the packages that it imports. */
function codeFolders(): string[] {
  const folders = [process.execPath, packageRoot, contractRoot];
  for (let folder = packageRoot; folder !== "/"; folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    if (existsSync(modules)) folders.push(modules);
  }
  return folders;
}

/**
 * Makes the server's compile cache available to the user of a warehouse through a symbolic link, because Node uses a
 * separate cache folder for each user id.
 */
function shareCache(folder: string, user: number): void {
  const own = `-${process.getuid?.()}`;
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith(own))) {
    const link = join(folder, `${name.slice(0, -own.length)}-${user}`);
    if (!existsSync(link)) symlinkSync(name, link);
  }
}

/** Makes the compile cache readable by everyone. It contains nothing but our own code. */
async function openToRead(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

export class WarehouseProcesses {
  readonly #confine: Confine;
  readonly #code: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #cacheDir: string;
  #prepared: Promise<void> | undefined;
  /** Spare children that wait for a task, by the folder of their warehouse. */
  readonly #spares = new Map<string, Child>();
  #closed = false;

  /** `cacheDir` is the folder of the compile cache that the children read. */
  constructor(confine: Confine, cacheDir: string) {
    this.#confine = confine;
    this.#code = [...codeFolders(), cacheDir];
    this.#environment = { NODE_COMPILE_CACHE: cacheDir };
    this.#cacheDir = cacheDir;
    mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  }

  /**
   * Fills the compile cache once, because compiling takes a child longer than its actual work. If this fails, children
   * only start more slowly.
   */
  prepare(): Promise<void> {
    const words = [process.execPath, ...childOptions, script];
    const told = JSON.stringify({ program: "load", request: null, metadata: "", rows: "" });
    this.#prepared ??= new Promise((resolve) => {
      const child = start(words, this.#environment, 60);
      child.stdout.resume();
      child.stdin.end(told);
      child.ended
        .catch(() => {})
        .then(() => openToRead(this.#cacheDir))
        .then(resolve, resolve);
    });
    return this.#prepared;
  }

  /** Runs a task and returns its answer, parsed as JSON. */
  async ask(folder: WarehouseFolder, task: Task): Promise<unknown> {
    return JSON.parse((await this.#answer(folder, task, answerBytes)).toString("utf8")) as unknown;
  }

  /** Runs a task and returns its answer as lines of JSON, so that the caller can parse them with pauses. */
  async askLines(folder: WarehouseFolder, task: Task): Promise<Buffer[]> {
    return linesOf(await this.#answer(folder, task, linesBytes));
  }

  async #answer(folder: WarehouseFolder, task: Task, most: number): Promise<Buffer> {
    const child = this.#start(folder, task);
    const parts: Buffer[] = [];
    let size = 0;
    child.stdout.on("data", (part: Buffer) => {
      size += part.length;
      if (size > most) child.kill("SIGKILL");
      else parts.push(part);
    });
    await child.ended;
    return Buffer.concat(parts);
  }

  /** Runs a task and writes its output to a file. */
  async fill(folder: WarehouseFolder, task: Task, path: string): Promise<void> {
    const child = this.#start(folder, task);
    await Promise.all([pipeline(child.stdout, createWriteStream(path, { mode: 0o600 })), child.ended]);
  }

  /**
   * Runs a foreign command, such as the library's garbage collection, with the limits of a job. Returns the beginning
   * of its output.
   */
  async run(folder: WarehouseFolder, command: Command, confineStrangers: ConfineStrangers): Promise<string> {
    const view = { group: folder.group(), readable: command.readable, writable: [folder.data, ...command.writable] };
    const place = confineStrangers(view);
    try {
      const child = start([...place.words, ...command.words], command.environment, command.seconds);
      let said = "";
      child.stdout.on("data", (part: Buffer) => {
        if (said.length < saidLength) said += part.toString("utf8");
      });
      await child.ended;
      return said.slice(0, saidLength);
    } finally {
      await place.leave();
    }
  }

  /**
   * Starts a spare child while a short job runs. The child is ready for a task when the job ends, and is killed if no
   * task comes within `spareSeconds`.
   */
  expect(folder: WarehouseFolder): void {
    if (this.#closed || this.#spares.has(folder.path)) return;
    const child = this.#spawn(folder, [folder.data], spareSeconds + longestTask);
    this.#spares.set(folder.path, child);
    const forget = () => {
      if (this.#spares.get(folder.path) === child) this.forget(folder);
    };
    setTimeout(forget, spareSeconds * 1000).unref();
    child.on("close", forget);
  }

  /** Kills the spare child of a warehouse that was replaced, because that child would still see the old files. */
  forget(folder: WarehouseFolder): void {
    this.#spares.get(folder.path)?.kill("SIGKILL");
    this.#spares.delete(folder.path);
  }

  #takeSpare(folder: WarehouseFolder): Child | undefined {
    const child = this.#spares.get(folder.path);
    this.#spares.delete(folder.path);
    return child?.exitCode === null && child.signalCode === null ? child : undefined;
  }

  #start(folder: WarehouseFolder, task: Task): Child {
    const { program, request, writable = [], data = folder.data, seconds, longestFile } = task;
    const usual = writable.length === 0 && data === folder.data && seconds <= longestTask && longestFile === undefined;
    const spare = usual ? this.#takeSpare(folder) : undefined;
    const child = spare ?? this.#spawn(folder, [data, ...writable], seconds, longestFile);
    const told = { program, request, ...warehouseFiles(data) };
    child.stdin.end(JSON.stringify(told));
    return child;
  }

  #spawn(folder: WarehouseFolder, writable: readonly string[], seconds: number, longestFile?: number): Child {
    const group = folder.group();
    if (group !== undefined) shareCache(this.#cacheDir, group);
    const view = { group, readable: this.#code, writable };
    const words = [...this.#confine(view), ...withLimits(longestFile), process.execPath, ...childOptions, script];
    // SQLite needs a temporary directory that the child can write to when it rewrites a file.
    return start(words, { ...this.#environment, SQLITE_TMPDIR: folder.data }, seconds);
  }

  close(): void {
    this.#closed = true;
    for (const child of this.#spares.values()) child.kill("SIGKILL");
    this.#spares.clear();
  }
}

function linesOf(answer: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < answer.length; ) {
    const end = answer.indexOf(10, start);
    lines.push(answer.subarray(start, end < 0 ? undefined : end));
    start = end < 0 ? answer.length : end + 1;
  }
  return lines;
}

export interface Command {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly seconds: number;
}

type Child = ReturnType<typeof start>;

function start(
  [program = "", ...rest]: readonly string[],
  environment: Readonly<Record<string, string>>,
  seconds: number,
) {
  const child = spawn(program, rest, {
    env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", ...environment },
    stdio: ["pipe", "pipe", "pipe"],
    cwd: "/",
    timeout: seconds * 1000,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stderr.on("data", (part: Buffer) => {
    if (said.length < saidLength) said += part.toString("utf8");
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) return resolve();
      if (code === busyExit) return reject(new WarehouseBusy(said.trim()));
      if (code === unusableExit) return reject(new WarehouseUnusable(said.trim()));
      if (signal === "SIGKILL") {
        return reject(
          new WarehouseUnusable(
            `The team's warehouse could not be read: the process took more than ${seconds} seconds or too much memory, and was stopped. Try again when the server is less busy.`,
          ),
        );
      }
      reject(new Error(`the child process for the team's warehouse ended with ${code ?? signal}: ${said.trim()}`));
    });
  });
  child.stdin.on("error", () => {});
  // The reader of the output reports the failure; without this handler, Node would also treat it as an unhandled
  // rejection.
  ended.catch(() => {});
  return Object.assign(child, { ended });
}
