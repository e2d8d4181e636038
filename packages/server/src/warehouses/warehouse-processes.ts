/**
 * Starts the short-lived child that reads and changes a team's warehouse. Whatever jobs may have put there meets a process
 * that has the warehouse's own rights, little memory and little time, and nothing of the server's.
 */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { chmod, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import type { StrangersPlace, WarehouseView } from "../engines/engine.ts";
import { busyExit, unusableExit } from "./exit-codes.ts";
import { type WarehouseFolder, warehouseFiles } from "./warehouse-folder.ts";

/** Words in front of a command of ours that give it this view: the engine knows how. */
export type Confine = (view: WarehouseView) => string[];

/** A place for a command that the team's code can be part of. */
export type ConfineStrangers = (view: WarehouseView) => StrangersPlace;

/** Thrown where the team's warehouse cannot be read or changed: its message is for people of the team. */
export class WarehouseUnusable extends Error {}

/** The same, where the next try may go well. */
export class WarehouseBusy extends WarehouseUnusable {}

export interface Task {
  /** The name of a program of ours, and what it is told. */
  readonly program: string;
  readonly request: unknown;
  /** Folders beside the warehouse that it writes to. */
  readonly writable?: readonly string[];
  /** Where the warehouse lies, if not in its place. */
  readonly data?: string;
  readonly seconds: number;
  /** Bytes of the longest file that it may write: what a job made of a warehouse must not fill the disk when it is copied. */
  readonly longestFile?: number;
}

const fromSource = import.meta.filename.endsWith(".ts");
const packageRoot = join(import.meta.dirname, fromSource ? "../.." : "..");
const contractRoot = join(fileURLToPath(import.meta.resolve("@millrace/contract")), "../..");
const script = join(import.meta.dirname, fromSource ? "child.ts" : "child.js");
/** Bytes of an answer that is read at once, and of one that is read line by line: no warehouse that is right has more to say. */
const answerBytes = 16 * 1024 * 1024;
const linesBytes = 64 * 1024 * 1024;
/** Characters that are kept of what a command prints. */
const saidLength = 4000;
const childOptions = [
  "--max-old-space-size=512",
  "--no-warnings",
  ...(fromSource ? ["--conditions=millrace-source"] : []),
];

/** Seconds that a child waits for a task, and that a task of such a child may take. */
const spareSeconds = 15;
const longestTask = 120;

/** In KiB, of everything that a child takes, and in blocks of 512 bytes, of a file that it writes: beyond them the child ends. */
const withLimits = (longestFile: number | undefined) => {
  const file = longestFile === undefined ? "unlimited" : Math.ceil(longestFile / 512);
  return ["/bin/sh", "-c", `ulimit -d 2000000; ulimit -f ${file}; exec "$@"`, "sh"];
};

/** Where a child finds its own code and the packages that it imports. */
function codeFolders(): string[] {
  const folders = [process.execPath, packageRoot, contractRoot];
  for (let folder = packageRoot; folder !== "/"; folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    if (existsSync(modules)) folders.push(modules);
  }
  return folders;
}

/** Node keeps what it made of source apart for each user: the warehouse's user finds ours under a name of its own. */
function shareCache(folder: string, user: number): void {
  const own = `-${process.getuid?.()}`;
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith(own))) {
    const link = join(folder, `${name.slice(0, -own.length)}-${user}`);
    if (!existsSync(link)) symlinkSync(name, link);
  }
}

/** Our own code, and nothing else: everybody may read it. */
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
  /** Children that wait for a task, by the warehouse that they see. */
  readonly #spares = new Map<string, Child>();
  #closed = false;

  /** `cacheDir`: where what Node made of our source is kept, for children to read. */
  constructor(confine: Confine, cacheDir: string) {
    this.#confine = confine;
    this.#code = [...codeFolders(), cacheDir];
    this.#environment = { NODE_COMPILE_CACHE: cacheDir };
    this.#cacheDir = cacheDir;
    mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  }

  /**
   * Reading TypeScript takes a child longer than all it has to do, so that is done once, ahead, with our own rights: the
   * children only read the result. Failing that, they are slower.
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

  /** What the program answers, read as JSON. */
  async ask(folder: WarehouseFolder, task: Task): Promise<unknown> {
    return JSON.parse((await this.#answer(folder, task, answerBytes)).toString("utf8")) as unknown;
  }

  /** Lines of JSON: whoever reads them decides how much to parse without a break. */
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

  /** What the program writes, as a file. */
  async fill(folder: WarehouseFolder, task: Task, path: string): Promise<void> {
    const child = this.#start(folder, task);
    await Promise.all([pipeline(child.stdout, createWriteStream(path, { mode: 0o600 })), child.ended]);
  }

  /** A command that is not ours, as the library's garbage collection, with the limits of a job; resolves with the beginning of what it printed. */
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

  /** Started while a short job runs, a child is ready when it ends; one that nobody needs soon is not kept. */
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

  /** The warehouse has gone from its place: who waits there would still see it. */
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
    // SQLite writes a file anew in a place where the child may write.
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
            `The team's warehouse could not be read within ${seconds} seconds or the memory for it.`,
          ),
        );
      }
      reject(
        new Error(`the program that looks after the team's warehouse ended with ${code ?? signal}: ${said.trim()}`),
      );
    });
  });
  child.stdin.on("error", () => {});
  // Whoever reads the output first learns of the failure there; it must not be taken for one that nobody awaits.
  ended.catch(() => {});
  return Object.assign(child, { ended });
}
