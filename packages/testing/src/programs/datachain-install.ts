/** The released `datachain` client, and older releases of it. */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { programIn, whyNoVirtualenv } from "./virtualenv.ts";

const version = "0.62.0";

/** A release of the package as tests use it. */
export interface Release {
  readonly version: string;
  /** Path of its command line. */
  readonly program: string;
  /** Path of the interpreter that has the library. */
  readonly python: string;
  /** False if it is installed, otherwise why its tests must be skipped. */
  readonly why: () => Promise<false | string>;
  /** Settings of a server whose jobs find that interpreter. */
  readonly env: Readonly<Record<string, string>>;
}

const virtualenvOf = (release: string) => ({
  name: `datachain-${release}`,
  requirement: `datachain[remote]==${release}`,
});
const virtualenv = virtualenvOf(version);

export function releaseOf(release: string): Release {
  const place = virtualenvOf(release);
  const program = programIn(place, "datachain");
  const path = { PATH: `${dirname(program)}:${process.env["PATH"]}`, MILLRACE_LIBRARY_VERSION: release };
  return {
    version: release,
    program,
    python: programIn(place, "python"),
    why: () => whyNoVirtualenv(place),
    env: path,
  };
}

export const datachain = programIn(virtualenv, "datachain");
/** Path of the interpreter that has the library. */
export const datachainPython = programIn(virtualenv, "python");
export const whyNoDatachain = () => whyNoVirtualenv(virtualenv);

/** Settings of a server whose jobs find an interpreter with the library, so that no environment is built for them. */
export const withLibrary = { PATH: `${dirname(datachain)}:${process.env["PATH"]}` };

/**
 * The same for jobs with their own users and without a sandbox, which cannot reach an interpreter or a library in a
 * home directory. Uses the system's interpreter, with hard links to the library's files; the caller removes `folder`.
 */
export async function withReachableLibrary(): Promise<{ env: typeof withLibrary; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-python-"));
  await chmod(folder, 0o755);
  await promisify(execFile)("/usr/bin/python3", ["-m", "venv", "--without-pip", folder]);
  const library = join(dirname(datachain), "../lib");
  const [line = ""] = await readdir(library);
  const packages = join(folder, "lib", line, "site-packages");
  await rm(packages, { recursive: true });
  // Hard links do not work across file systems.
  const link = 'cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2"; cp -a "$1" "$2"; }';
  await promisify(execFile)("sh", ["-c", link, "sh", join(library, line, "site-packages"), packages]);
  return { env: { PATH: `${join(folder, "bin")}:${process.env["PATH"]}` }, folder };
}
