/** Finds programs that are installed on the machine. */
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import type { Programs } from "./isolation.ts";

/** Returns the path of the first executable with this name on `path`, or undefined. */
export async function findProgram(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(":").filter(Boolean)) {
    const candidate = join(folder, name);
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  return undefined;
}

/** Finds the programs that start jobs. Throws if a program that every job needs is missing. */
export async function findPrograms(jobEnvironment: Readonly<Record<string, string>>): Promise<Programs> {
  const path = `/usr/bin:/bin:${jobEnvironment["PATH"] ?? ""}`;
  const setsid = await findProgram("setsid", path);
  const env = await findProgram("env", path);
  if (!setsid || !env)
    throw new Error(
      "The program setsid or env is missing, and every job needs both. Install the packages util-linux and coreutils.",
    );
  const [setpriv, prlimit, ipcrm, find] = await Promise.all(
    ["setpriv", "prlimit", "ipcrm", "find"].map((name) => findProgram(name, path)),
  );
  return { setsid, env, setpriv, prlimit, ipcrm, find };
}
