/** A project that has packages of `npm pack` installed, as people install them from a registry. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "@millrace/testing/repository.ts";

const run = promisify(execFile);

/** Packs the packages, and returns the folder of a new project that has installed them. */
export async function packedProject(...packages: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-pack-"));
  const workspaces = packages.flatMap((name) => ["-w", `packages/${name}`]);
  // Test files run at the same time, and a build begins by removing the packages' `dist` folders: one after the other.
  await mkdir(join(repository, ".cache"), { recursive: true });
  const lock = join(repository, ".cache/pack.lock");
  await run("flock", [lock, "npm", "pack", ...workspaces, "--pack-destination", folder], { cwd: repository });
  const archives = (await readdir(folder)).map((name) => `./${name}`);
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...archives], { cwd: folder });
  return folder;
}
