/** Installs products below .cache, once; nothing is installed on the machine. */
import { execFile } from "node:child_process";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cache } from "@millrace/testing/programs/program.ts";

const run = promisify(execFile);

/** Takes what the installers of the tests answer, and throws the reason if something is not available. */
export async function installed(...answers: Promise<false | string>[]): Promise<void> {
  for (const why of await Promise.all(answers)) if (why) throw new Error(why);
}

/** Downloads and unpacks these Debian packages together, and returns their root folder. */
export async function unpacked(name: string, packages: readonly string[]): Promise<string> {
  const root = join(cache, name);
  const isThere = await readdir(root).then(
    () => true,
    () => false,
  );
  if (isThere) return root;
  const part = `${root}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true });
  await run("apt-get", ["download", ...packages], { cwd: part });
  for (const file of (await readdir(part)).filter((entry) => entry.endsWith(".deb")))
    await run("dpkg-deb", ["--extract", file, "."], { cwd: part });
  await rename(part, root);
  return root;
}

/** The folder of the shared libraries below such a root; its name depends on the kind of processor. */
export async function librariesIn(root: string): Promise<string> {
  const found = (await readdir(join(root, "usr/lib"))).find((name) => name.endsWith("-linux-gnu"));
  return join(root, "usr/lib", found ?? "");
}
