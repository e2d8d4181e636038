/**
 * Python packages that tests use (servers, fsspec with the clouds' file systems, the hub's client), in one virtualenv
 * that is built once below .cache.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cache, skipUnless } from "./program.ts";

const run = promisify(execFile);
const place = join(cache, "storage-python");

const requirements = [
  "fsspec==2026.9.0",
  "s3fs==2026.9.0",
  "gcsfs==2026.10.1",
  "adlfs==2026.8.0",
  "huggingface_hub==2.4.0",
  "pyftpdlib==2.2.0",
  "pyOpenSSL==26.4.0",
  "wsgidav==4.4.0",
  "cheroot==11.1.2",
];

export const pythonProgram = (name: string) => join(place, "bin", name);

/** Returns false if the packages are available, otherwise the reason to skip their tests. */
export const whyNoPythonPackages = () => skipUnless("Python packages", install);

/** Runs a Python script with this standard input, and returns its standard output. */
export async function runPython(
  script: string,
  environment: Readonly<Record<string, string>>,
  input = "",
): Promise<string> {
  const env = { ...process.env, ...environment };
  const running = run(pythonProgram("python"), ["-c", script], { env, timeout: 120_000 });
  running.child.stdin?.end(input);
  return (await running).stdout;
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
 * that a half-built virtualenv is built again. The marker holds the requested packages and the folder's path, because a
 * virtualenv cannot be moved.
 */
const buildScript = `
venv=$1 python=$2
shift 2
[ "$(cat "$venv/.ready" 2>/dev/null)" = "$venv $*" ] && exit 0
echo "Building a virtualenv for the storage tests (once, about a minute)" >&3
rm -rf "$venv"
"$python" -m venv "$venv" &&
  "$venv/bin/python" -m pip install --quiet --retries 1 --disable-pip-version-check "$@" &&
  printf %s "$venv $*" >"$venv/.ready"
`;

async function install(): Promise<void> {
  await mkdir(cache, { recursive: true });
  const words = [`${place}.lock`, "/bin/sh", "-c", buildScript, "build", place, await findPython(), ...requirements];
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
