/**
 * Sandboxes the child process that opens a team's warehouse, for admin commands that run without the server. Like the
 * server, it tests which isolation level works on this machine.
 */
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, realpathSync } from "node:fs";
import { promisify } from "node:util";
import type { IsolationLevel } from "../../engine.ts";
import type { WarehouseView } from "../../warehouse-view.ts";
import type { EngineFolders } from "../engine-folders.ts";
import { confineToSandbox, confineToUser } from "./isolation.ts";
import { findProgram } from "./programs.ts";
import { closedFolder } from "./reveal.ts";
import { Sandbox } from "./sandbox.ts";

export interface ConfinementOptions {
  readonly wanted: IsolationLevel | "auto";
  /** The engine's folders; `root` contains the warehouses. */
  readonly folders: EngineFolders;
}

type Confinement = (view: WarehouseView) => string[];

const systemPath = "/usr/bin:/bin:/usr/local/bin";
const isRoot = process.getuid?.() === 0;

/**
 * Returns a function that creates the command prefix of a sandbox. Throws if the requested level does not work, rather
 * than use a weaker level.
 */
export async function openConfinement({ wanted, folders }: ConfinementOptions): Promise<Confinement> {
  if (wanted === "none") return () => [];
  mkdirSync(folders.root, { recursive: true, mode: 0o700 });
  const setpriv = isRoot ? await findProgram("setpriv", systemPath) : undefined;
  const reasons: string[] = [];
  if (wanted !== "uid") {
    const sandboxed = await openSandbox(folders, setpriv);
    if (typeof sandboxed === "function") return sandboxed;
    reasons.push(sandboxed);
  }
  if (wanted !== "bwrap") {
    const closed = closedFolder(realpathSync(folders.root));
    if (setpriv && !closed) {
      // The warehouse's user must be able to traverse the data folder.
      chmodSync(folders.root, 0o711);
      return (view) => confineToUser(setpriv, view);
    }
    reasons.push(
      closed
        ? `uid: other users have no execute permission on ${closed}. Run chmod o+x ${closed}.`
        : "uid: the server must run as root and needs the program setpriv (package util-linux).",
    );
  }
  if (wanted === "auto") return () => [];
  throw new Error(`MILLRACE_ISOLATION=${wanted} does not work on this machine. ${reasons.join(" ")}`);
}

async function openSandbox(folders: EngineFolders, setpriv: string | undefined): Promise<Confinement | string> {
  const bwrap = await findProgram("bwrap", systemPath);
  if (!bwrap) return "bwrap: the program bwrap is missing. Install the package bubblewrap.";
  const sandbox = new Sandbox({ bwrap, folders, jobPaths: [], hidden: [], settingFiles: [], memory: 0 });
  const confine = (view: WarehouseView) => confineToSandbox(sandbox, setpriv, view);
  const [program = "", ...words] = [...confine({ group: undefined, readable: [], writable: [] }), "/bin/true"];
  return promisify(execFile)(program, words, { timeout: 20_000 }).then(
    () => confine,
    ({ stderr, message }: { stderr?: string; message: string }) => `bwrap: ${stderr?.trim() || message}`,
  );
}
