/** Server programs that the tests use: built from Go source once, into .cache, or installed on the machine. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../repository.ts";

const run = promisify(execFile);
export const cache = join(repository, ".cache");

export interface GoProgram {
  readonly name: string;
  readonly version: string;
  /** The argument of `go install`, without the version. */
  readonly source: string;
}

export const programPath = ({ name, version }: GoProgram) => join(cache, `${name}-${version}`, name);

/**
 * Returns false if the program is available, otherwise the reason to skip its tests; pass the value as `skip` to a
 * suite. With CI=true, throws instead.
 */
export async function whyNoProgram(program: GoProgram): Promise<false | string> {
  return skipUnless(`${program.name} ${program.version}`, () => build(program));
}

/** Like `whyNoProgram`, for a program that must be installed on the machine. */
export async function whyNotInstalled(name: string, argument: string): Promise<false | string> {
  return skipUnless(name, () => run(name, [argument]));
}

export async function skipUnless(name: string, have: () => Promise<unknown>): Promise<false | string> {
  try {
    await have();
    return false;
  } catch (error) {
    const why = `${name} is not available: ${(error as Error).message.split("\n").at(0)}`;
    if (process.env["CI"] === "true") throw new Error(why);
    process.stderr.write(`${why}; its tests are skipped\n`);
    return why;
  }
}

/**
 * Builds the program under a lock, which the kernel releases even after a crash, with the Go release that it wants.
 * Moves it to its final path last; Go names it after the last part of its source.
 */
const buildScript = `
place=$1 name=$2 source=$3
[ -x "$place/$name" ] && exit 0
command -v go >/dev/null || { echo "there is no Go to build it with" >&2; exit 1; }
echo "Building $source (once, some minutes)" >&3
rm -rf "$place.part" && mkdir -p "$place.part" "$place" &&
  GOBIN="$place.part" GOFLAGS=-p=1 GOTOOLCHAIN=auto nice -n 10 go install "$source" &&
  mv "$place.part/"* "$place/$name" && rm -rf "$place.part"
`;

async function build(program: GoProgram): Promise<void> {
  const place = join(cache, `${program.name}-${program.version}`);
  await mkdir(cache, { recursive: true });
  const source = `${program.source}@v${program.version}`;
  const words = [`${place}.lock`, "/bin/sh", "-c", buildScript, "build", place, program.name, source];
  // The script's descriptor 3 is our standard error: the notice appears at once, the compiler's output only on failure.
  const child = spawn("flock", words, { stdio: ["ignore", "ignore", "pipe", 2] });
  let complaint = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    complaint += bytes.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(complaint.trim().split("\n").at(-1) || `the build ended with ${code}`);
}
