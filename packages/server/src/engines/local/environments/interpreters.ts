/** Finds the Python interpreters of this machine and resolves each to its real binary. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { access, constants, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { readInstalledVersion } from "../../../datachain/library.ts";
import { CannotStart } from "../../engine.ts";

export interface Interpreter {
  readonly path: string;
  readonly version: string;
  /** Folders that the interpreter needs to run: its prefix and, in a virtualenv, the prefix of its base interpreter. */
  readonly folders: readonly string[];
  /** Installed version of the dataset library; empty if it is not installed. */
  readonly library: string;
}

export class Interpreters {
  /** The folders of the search path, in its order. */
  readonly #folders: readonly string[];
  readonly #asJob: readonly string[];
  readonly #probes = new Map<string, Promise<Interpreter | undefined>>();

  /**
   * `asJob` is a command prefix that runs a command with a job's rights. Each interpreter is run with this prefix once.
   * Interpreters that jobs cannot execute are left out.
   */
  constructor(searchPath: string, asJob: readonly string[] = []) {
    this.#folders = searchPath.split(delimiter).filter((folder) => folder !== "");
    this.#asJob = asJob;
  }

  /**
   * Returns an interpreter whose version matches `wanted`, such as `3.12`, `3.12.1` or `>=3.10,<3.13`. For null,
   * returns the machine's `python3`.
   */
  async resolve(wanted: string | null): Promise<Interpreter> {
    if (wanted === null) {
      // Every job in a sandbox asks for this one, so no folder is listed for it.
      for (const candidate of this.#folders.map((folder) => join(folder, "python3"))) {
        const found = existsSync(candidate) ? await this.#probe(candidate) : undefined;
        if (found) return found;
      }
    }
    const all = await this.list();
    const found = all.find(({ version }) => wanted === null || satisfies(version, wanted));
    if (found) return found;
    const versions = all.map(({ version }) => version).join(", ") || "none";
    throw new CannotStart(`Python ${wanted ?? "3"} is not installed on this machine. Installed versions: ${versions}.`);
  }

  /** Returns one interpreter of each version, newest first. */
  async list(): Promise<Interpreter[]> {
    const candidates = [...(await this.#onPath()), ...(await managed())];
    const found = (await Promise.all(candidates.map((path) => this.#probe(path)))).filter((i) => i !== undefined);
    const unique = [...new Map(found.map((i) => [i.version, i])).values()];
    return unique.sort((a, b) => compare(b.version, a.version));
  }

  async #onPath(): Promise<string[]> {
    const names = await Promise.all(this.#folders.map((folder) => readdir(folder).catch(() => [] as string[])));
    return this.#folders.flatMap((folder, index) =>
      (names[index] ?? []).filter((name) => /^python3(\.\d+)?$/.test(name)).map((name) => join(folder, name)),
    );
  }

  /**
   * Runs an interpreter once and caches its version and real path. Jobs use the real path, because a shim on PATH, such
   * as pyenv's, adds 100 ms to every start.
   */
  #probe(path: string): Promise<Interpreter | undefined> {
    let probe = this.#probes.get(path);
    if (!probe) {
      probe = ask(path, this.#asJob).then((found) => {
        // Do not cache a failure: the machine may only have been too busy.
        if (!found) this.#probes.delete(path);
        return found;
      });
      this.#probes.set(path, probe);
    }
    return probe;
  }
}

const question = `
import glob, os, platform, sys
# Python was started before privileges were dropped. A job must be able to execute it with its own rights.
if not os.access(sys.executable, os.X_OK):
    sys.exit(1)
${readInstalledVersion}
print(platform.python_version(), sys.executable, library, sys.prefix, sys.base_prefix, sep="\\n")
`;

function ask(path: string, asJob: readonly string[]): Promise<Interpreter | undefined> {
  const [program = "", ...words] = [...asJob, path, "-I", "-c", question];
  // A process with a job's user id must not see the server's environment variables.
  const env = asJob.length > 0 ? { env: { PATH: "/usr/bin:/bin" } } : {};
  return new Promise((resolve) => {
    execFile(program, words, { timeout: 10_000, ...env }, (error, stdout) => {
      const [version, executable, library = "", ...prefixes] = stdout.trim().split("\n");
      if (error || !version || !executable) return resolve(undefined);
      resolve({ version, path: executable, library, folders: foldersOf(executable, prefixes) });
    });
  });
}

/** Returns the folders that the interpreter needs. A folder inside another of these folders is left out. */
function foldersOf(executable: string, prefixes: readonly string[]): string[] {
  const all = [...new Set([...prefixes, dirname(executable)])];
  return all.filter((folder) => !all.some((other) => folder.startsWith(`${other}/`)));
}

/** Returns the interpreters that pyenv and uv have installed, which may not be on PATH. */
async function managed(): Promise<string[]> {
  const roots = [join(homedir(), ".pyenv/versions"), join(homedir(), ".local/share/uv/python")];
  const paths = await Promise.all(
    roots.map(async (root) =>
      (await readdir(root).catch(() => [] as string[])).map((name) => join(root, name, "bin/python3")),
    ),
  );
  const reachable = await Promise.all(
    paths.flat().map((path) =>
      access(path, constants.X_OK).then(
        () => path,
        () => undefined,
      ),
    ),
  );
  return reachable.filter((path) => path !== undefined);
}

const parts = (version: string) => version.split(".").map((part) => Number.parseInt(part, 10) || 0);

function compare(a: string, b: string): number {
  const [left, right] = [parts(a), parts(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Whether a Python version matches `wanted`, which is a version prefix such as `3.12`, or specifiers such as
 * `>=3.10,<3.13`.
 */
export function satisfies(version: string, wanted: string): boolean {
  return wanted.split(",").every((condition) => {
    const match = /^(>=|<=|==|!=|~=|>|<)? ?v?([\d.]+?)(\.\*)?$/.exec(condition.trim());
    if (!match?.[2]) return false;
    const [, operator = "==", bound] = match;
    const within = version === bound || version.startsWith(`${bound.replace(/\.$/, "")}.`);
    if (operator === "==") return within;
    if (operator === "!=") return !within;
    if (operator === "~=")
      return compare(version, bound) >= 0 && version.startsWith(`${bound.split(".").slice(0, -1).join(".")}.`);
    const order = compare(version, bound);
    return operator === ">="
      ? order >= 0
      : operator === "<="
        ? order <= 0 || within
        : operator === ">"
          ? order > 0 && !within
          : order < 0;
  });
}
