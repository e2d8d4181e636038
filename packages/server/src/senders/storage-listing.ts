/**
 * Lists a folder of an object store with somebody's credentials, in a child process that can read no files but its own
 * code, start no processes, and connect to allowed addresses only. So neither the server's own credentials (files,
 * the machine's cloud role) nor its network can be used through it.
 */
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface StorageWish {
  readonly uri: string;
  /** Parameters of the storage. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Variables of the credentials; nothing else is used. */
  readonly variables: Readonly<Record<string, string>>;
  /** Lists what comes behind this path. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Private networks that the operator allows. */
  readonly networks: readonly string[];
}

export type ListingAnswer =
  | {
      readonly entries: readonly { path: string; isFolder: boolean; size: number; modified: string | null }[];
      readonly next: string | null;
    }
  /** Why the folder cannot be listed: a code of the storage library and a message. */
  | { readonly problem: string; readonly message: string };

/** `unwanted` is aborted when nobody waits for the answer any more. */
type ListStorage = (wish: Omit<StorageWish, "networks">, unwanted: AbortSignal) => Promise<unknown>;

const fromSource = import.meta.filename.endsWith(".ts");
const script = join(import.meta.dirname, fromSource ? "storage-child.ts" : "storage-child.js");
const seconds = 30;
/** Maximum size of the child's answer in bytes. */
const answerBytes = 8 * 1024 * 1024;
/**
 * Command that limits the child's memory, in KiB, also outside of the heap of JavaScript: a store decides how large its
 * answers are. About half of it is what Node reserves at its start.
 */
const withLimits = ["-c", 'ulimit -d 1000000; exec nice -n 5 "$@"', "sh"];

/** Returns the function that lists folders. Its answer is untrusted: the store chose the names. */
export function storageLister(networks: readonly string[]): ListStorage {
  const options = childOptions();
  return (wish, unwanted) => run(options, JSON.stringify({ ...wish, networks }), unwanted);
}

function childOptions(): string[] {
  return [
    "--disable-warning=ExperimentalWarning",
    "--disable-warning=SecurityWarning",
    "--max-old-space-size=256",
    "--permission",
    ...(process.allowedNodeEnvironmentFlags.has("--allow-net") ? ["--allow-net"] : []),
    ...codeFolders().map((folder) => `--allow-fs-read=${folder}/*`),
    ...(fromSource ? ["--conditions=millrace-source"] : []),
    script,
  ];
}

/** The folders of the child's code and of the packages that it imports, where they really are. */
function codeFolders(): string[] {
  const roots = ["@millrace/contract", "@millrace/storage"].map((name) => fileURLToPath(import.meta.resolve(name)));
  const found = [script, ...roots].map((file) => dirname(dirname(realpathSync(file))));
  for (const start of [...found])
    for (let folder = start; folder !== "/"; folder = dirname(folder))
      if (existsSync(join(folder, "node_modules"))) found.push(join(folder, "node_modules"));
  return [...new Set([...found, "/nonexistent"])];
}

function start(options: readonly string[], told: string) {
  const child = spawn("/bin/sh", [...withLimits, process.execPath, ...options], {
    env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", HOME: "/nonexistent", AWS_EC2_METADATA_DISABLED: "true" },
    stdio: ["pipe", "pipe", "ignore"],
    cwd: "/",
    timeout: seconds * 1000,
    killSignal: "SIGKILL",
  });
  child.stdin.on("error", () => {});
  child.stdin.end(told);
  return child;
}

function run(options: readonly string[], told: string, unwanted: AbortSignal): Promise<unknown> {
  const child = start(options, told);
  const kill = () => void child.kill("SIGKILL");
  if (unwanted.aborted) kill();
  unwanted.addEventListener("abort", kill);
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout.on("data", (part: Buffer) => {
    size += part.length;
    if (size <= answerBytes) parts.push(part);
    else kill();
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    // The storage decides what the child reads, so whatever its content causes is a problem of the storage.
    const problem = (message: string) => resolve({ problem: "network", message });
    child.on("close", (code, signal) => {
      unwanted.removeEventListener("abort", kill);
      if (unwanted.aborted) return problem("The listing was stopped, because nobody waits for it any more.");
      if (size > answerBytes) return problem("The names in this folder are too long to be listed.");
      if (signal === "SIGKILL") return problem(`The storage did not answer within ${seconds} seconds.`);
      if (code !== 0) return problem("The answer of the storage could not be read: it is too large or damaged.");
      try {
        resolve(JSON.parse(Buffer.concat(parts).toString("utf8")));
      } catch {
        problem("The answer of the storage could not be read.");
      }
    });
  });
}
