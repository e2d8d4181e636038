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
  /** Path of the `datachain` program. */
  readonly program: string;
  /** Path of the interpreter that has the library. */
  readonly python: string;
  /** Returns false if the release is installed, otherwise the reason to skip its tests. */
  readonly why: () => Promise<false | string>;
  /** Environment of a server, so that its jobs find this interpreter. */
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

/** Environment of a server whose jobs find an interpreter with the library, so that no virtualenv is built for them. */
export const withLibrary = { PATH: `${dirname(datachain)}:${process.env["PATH"]}` };

/**
 * Like `withLibrary`, for jobs that run as their own users without a sandbox: they cannot reach an interpreter or a
 * library in a home directory. Uses the system's interpreter, with hard links to the library's files. The caller
 * removes `folder`.
 */
export async function withReachableLibrary(): Promise<{ env: typeof withLibrary; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-python-"));
  await chmod(folder, 0o755);
  await promisify(execFile)("/usr/bin/python3", ["-m", "venv", "--without-pip", folder]);
  const library = join(dirname(datachain), "../lib");
  const [line = ""] = await readdir(library);
  const packages = join(folder, "lib", line, "site-packages");
  await rm(packages, { recursive: true });
  // Hard links do not work across file systems; the files are then copied.
  const link = 'cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2"; cp -a "$1" "$2"; }';
  await promisify(execFile)("sh", ["-c", link, "sh", join(library, line, "site-packages"), packages]);
  return { env: { PATH: `${join(folder, "bin")}:${process.env["PATH"]}` }, folder };
}
