/** A git repository for tests. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * Creates three editions: a first commit with a tag, a branch, and the newest on main. Returns the first commit. A web
 * server can offer the repository as plain files.
 */
export async function makeRepository(folder: string): Promise<string> {
  await mkdir(join(folder, "tools"), { recursive: true });
  const git = async (...args: string[]) => {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
    const { stdout } = await promisify(execFile)("git", ["-C", folder, ...identity, ...args]);
    return stdout.trim();
  };
  const commit = async (name: string) => {
    await writeFile(join(folder, "tools/edition.py"), `name = "${name}"\n`);
    await writeFile(join(folder, "data.txt"), `data of the ${name} edition`);
    await git("add", ".");
    await git("commit", "--quiet", "--message", name);
  };
  await git("init", "--quiet", "--initial-branch", "main");
  await commit("first");
  await git("tag", "v1");
  await git("checkout", "--quiet", "-b", "feature/branch");
  await commit("branch");
  await git("checkout", "--quiet", "main");
  await commit("newest");
  await git("update-server-info");
  return git("rev-parse", "v1");
}
