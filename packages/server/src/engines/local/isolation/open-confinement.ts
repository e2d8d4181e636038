/**
 * How commands beside the server give the child that opens a team's warehouse its view, without running jobs: the level that
 * a server would choose here, tried, not guessed.
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
  /** Where the stores lie. */
  readonly folders: EngineFolders;
}

type Confinement = (view: WarehouseView) => string[];

const systemPath = "/usr/bin:/bin:/usr/local/bin";
const isRoot = process.getuid?.() === 0;

/** Throws where a level that is named does not work: a weaker one is not taken in its place. */
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
      // The store's user must come to its folder.
      chmodSync(folders.root, 0o711);
      return (view) => confineToUser(setpriv, view);
    }
    reasons.push(closed ? `uid: ${closed} lets only its owner pass.` : "uid: it needs root and setpriv (util-linux).");
  }
  if (wanted === "auto") return () => [];
  throw new Error(`MILLRACE_ISOLATION=${wanted} does not work here. ${reasons.join(" ")}`);
}

async function openSandbox(folders: EngineFolders, setpriv: string | undefined): Promise<Confinement | string> {
  const bwrap = await findProgram("bwrap", systemPath);
  if (!bwrap) return "bwrap: the program bwrap is missing: install bubblewrap.";
  const sandbox = new Sandbox({ bwrap, folders, jobPaths: [], hidden: [], settingFiles: [], memory: 0 });
  const confine = (view: WarehouseView) => confineToSandbox(sandbox, setpriv, view);
  const [program = "", ...words] = [...confine({ group: undefined, readable: [], writable: [] }), "/bin/true"];
  return promisify(execFile)(program, words, { timeout: 20_000 }).then(
    () => confine,
    ({ stderr, message }: { stderr?: string; message: string }) => `bwrap: ${stderr?.trim() || message}`,
  );
}
