/** Python packages that tests use, each in its own virtualenv, which is built once in .cache. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../repository.ts";

const run = promisify(execFile);
const cache = join(repository, ".cache");

export interface Virtualenv {
  /** Name of the folder in .cache; it contains the version, so that another version gets another folder. */
  readonly name: string;
  /** A requirement of pip, or several with spaces between them. */
  readonly requirement: string;
}

export const programIn = ({ name }: Virtualenv, program: string) => join(cache, name, "bin", program);

/**
 * Returns false if the package is available, otherwise the reason to skip its tests; pass the value as `skip` to a
 * suite. With CI=true, throws instead.
 */
export async function whyNoVirtualenv(virtualenv: Virtualenv): Promise<false | string> {
  try {
    await install(virtualenv, await findPython());
    return false;
  } catch (error) {
    const why = `${virtualenv.requirement} is not available: ${(error as Error).message}`;
    if (process.env["CI"] === "true") throw new Error(why);
    process.stderr.write(`${why}; its tests are skipped\n`);
    return why;
  }
}

/** Returns the real binary of the first Python that is new enough; a shim would be slower at every start. */
async function findPython(): Promise<string> {
  const script = "import sys; print(sys.executable if sys.version_info >= (3, 11) else '')";
  for (const name of ["python3", "python3.13", "python3.12", "python3.11"]) {
    const found = await run(name, ["-I", "-c", script]).catch(() => undefined);
    if (found?.stdout.trim()) return found.stdout.trim();
  }
  throw new Error("there is no Python 3.11 or newer");
}

/**
 * Builds the virtualenv under a lock, which the kernel releases even after a crash. Writes the marker `.ready` last, so
 * that a half-built virtualenv is built again. The marker holds the folder's path, because a virtualenv cannot be
 * moved.
 */
const buildScript = `
venv=$1 python=$2 requirement=$3
set -f
[ "$(cat "$venv/.ready" 2>/dev/null)" = "$venv" ] && exit 0
echo "Building a virtualenv with $requirement (once, about two minutes)" >&3
rm -rf "$venv"
"$python" -m venv "$venv" &&
  "$venv/bin/python" -m pip install --quiet --retries 1 --disable-pip-version-check $requirement &&
  printf %s "$venv" >"$venv/.ready"
`;

async function install({ name, requirement }: Virtualenv, python: string): Promise<void> {
  const venv = join(cache, name);
  await mkdir(cache, { recursive: true });
  const words = [`${venv}.lock`, "/bin/sh", "-c", buildScript, "build", venv, python, requirement];
  // The script's descriptor 3 is our standard error: the notice appears at once, the installer's output only on
  // failure.
  const child = spawn("flock", words, { stdio: ["ignore", "ignore", "pipe", 2] });
  let complaint = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    complaint += bytes.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(complaint.trim().split("\n").at(-1) || `the installer ended with ${code}`);
}
