/** Programs of the machine. */
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import type { Programs } from "./isolation.ts";

/** The first in these folders, or undefined. */
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

/** What every job is started with. */
export async function findPrograms(jobEnvironment: Readonly<Record<string, string>>): Promise<Programs> {
  const path = `/usr/bin:/bin:${jobEnvironment["PATH"] ?? ""}`;
  const setsid = await findProgram("setsid", path);
  const env = await findProgram("env", path);
  if (!setsid || !env) throw new Error("The programs setsid (util-linux) and env (coreutils) are needed to run jobs.");
  const [setpriv, prlimit, ipcrm, find] = await Promise.all(
    ["setpriv", "prlimit", "ipcrm", "find"].map((name) => findProgram(name, path)),
  );
  return { setsid, env, setpriv, prlimit, ipcrm, find };
}
