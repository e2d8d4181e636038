/** Other releases of Node than the one that runs the tests, from the registry, cached below .cache. */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "@millrace/testing/repository.ts";

const run = promisify(execFile);

/** Path of its executable. */
export async function olderNode(version: string): Promise<string> {
  const name = `node-linux-${process.arch}`;
  const folder = join(repository, ".cache", `node-${version}`);
  const program = join(folder, "node_modules", name, "bin/node");
  const isThere = await run(program, ["--version"]).then(
    ({ stdout }) => stdout.trim() === `v${version}`,
    () => false,
  );
  if (isThere) return program;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), "{}");
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", `${name}@${version}`], { cwd: folder });
  return program;
}
