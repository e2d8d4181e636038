/** Installs products below .cache, once; nothing is installed on the machine. */
import { execFile } from "node:child_process";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { cache } from "@millrace/testing/programs/program.ts";

const run = promisify(execFile);

/** Takes what the installers of the tests answer, and throws the reason if something is not available. */
export async function installed(...answers: Promise<false | string>[]): Promise<void> {
  for (const why of await Promise.all(answers)) if (why) throw new Error(why);
}

/** Downloads and unpacks these Debian packages together, and returns their root folder. */
export async function unpacked(name: string, packages: readonly string[]): Promise<string> {
  return once(name, async (part) => {
    await run("apt-get", ["download", ...packages], { cwd: part });
    for (const file of (await readdir(part)).filter((entry) => entry.endsWith(".deb")))
      await run("dpkg-deb", ["--extract", file, "."], { cwd: part });
  });
}

/**
 * Builds these programs of a Go module, and returns the folder that has them. Builds them in the folder of the module:
 * `go install` would ask for a list of all its versions, which the registry of Go modules does not give for each.
 */
export async function builtFrom(module: string, version: string, names: readonly string[]): Promise<string> {
  return once(`${basename(module)}-${version}`, async (part) => {
    const env = { ...process.env, GOTOOLCHAIN: "auto" };
    const answer = await run("go", ["mod", "download", "-json", `${module}@v${version}`], { cwd: part, env });
    const sources = names.map((name) => `./cmd/${name}`);
    const flags = ["-p", "1", "-buildvcs=false", "-ldflags", `-X main.Version=v${version}`];
    const words = ["-n", "10", "go", "build", ...flags, "-o", `${part}/`, ...sources];
    process.stderr.write(`Building ${module} (once, some minutes)\n`);
    await run("nice", words, { cwd: JSON.parse(answer.stdout).Dir, env, maxBuffer: 64 * 1024 ** 2 });
  });
}

/** Returns a folder of .cache that `fill` has filled, now or in an earlier run. It gets its name when it is complete. */
async function once(name: string, fill: (part: string) => Promise<void>): Promise<string> {
  const root = join(cache, name);
  const isThere = await readdir(root).then(
    () => true,
    () => false,
  );
  if (isThere) return root;
  const part = `${root}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true });
  await fill(part);
  await rename(part, root);
  return root;
}

/** The folder of the shared libraries below such a root; its name depends on the kind of processor. */
export async function librariesIn(root: string): Promise<string> {
  const found = (await readdir(join(root, "usr/lib"))).find((name) => name.endsWith("-linux-gnu"));
  return join(root, "usr/lib", found ?? "");
}
