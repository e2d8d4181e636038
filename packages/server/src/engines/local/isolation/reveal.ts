/**
 * Lets a process that switches to another user read code in a folder that only root may enter, such as root's home. In
 * the process's own mount namespace, an empty folder covers that folder, and only the code is mounted into it.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { quote } from "../processes/shell.ts";

/** Returns the command prefix that makes these paths readable. It is empty if other users can reach them already. */
export function reveal(paths: readonly string[]): string[] {
  const hidden = paths.filter((path) => closedFolder(path) !== undefined);
  return hidden.length === 0 ? [] : ["unshare", "--mount", "/bin/sh", "-c", revealScript(hidden), "sh"];
}

/** Returns the outermost parent folder on which other users have no execute permission; undefined if there is none. */
export function closedFolder(path: string): string | undefined {
  const above = dirname(path);
  const outer = above === path ? undefined : closedFolder(above);
  return outer ?? ((statSync(above).mode & 0o001) === 0 ? above : undefined);
}

/**
 * Returns a shell script that runs a command with these paths readable. The script bind-mounts each path to a place in
 * /mnt. It then covers each closed folder with an empty tmpfs. Finally it bind-mounts each path from /mnt to its old
 * place.
 */
function revealScript(paths: readonly string[]): string {
  const closed = new Set(paths.map((path) => closedFolder(path) as string));
  const aside = (index: number) => `/mnt/${index}`;
  const steps = [
    "mount -t tmpfs tmpfs /mnt",
    ...paths.map((path, index) => bind(path, aside(index), isFolder(path))),
    ...[...closed].map((folder) => `mount -t tmpfs -o mode=755 tmpfs ${quote(folder)}`),
    ...paths.map((path, index) => bind(aside(index), path, isFolder(path))),
  ];
  return `${steps.join(" &&\n")} &&\nexec "$@"`;
}

const isFolder = (path: string) => statSync(path).isDirectory();

/**
 * Returns shell commands that create a mount point at `to` and bind-mount `from` there. A folder needs a folder as its
 * mount point, and a file needs a file.
 */
function bind(from: string, to: string, folder: boolean): string {
  const place = folder ? `mkdir -p ${quote(to)}` : `mkdir -p ${quote(dirname(to))} && : >> ${quote(to)}`;
  return `${place} && mount --bind ${quote(from)} ${quote(to)}`;
}
