/**
 * Lets a child that becomes another user reach code in a folder that only root may enter, as root's home is: the words in
 * front of its command give it a mount namespace where that code is all there is of the folder.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { quote } from "../processes/shell.ts";

/** No words where every path can be reached as it is. */
export function reveal(paths: readonly string[]): string[] {
  const hidden = paths.filter((path) => closedFolder(path) !== undefined);
  return hidden.length === 0 ? [] : ["unshare", "--mount", "/bin/sh", "-c", revealScript(hidden), "sh"];
}

/** The outermost folder above this path that only its owner may enter. */
export function closedFolder(path: string): string | undefined {
  const above = dirname(path);
  const outer = above === path ? undefined : closedFolder(above);
  return outer ?? ((statSync(above).mode & 0o001) === 0 ? above : undefined);
}

/** The paths are kept aside under /mnt while an empty file system takes the place of each closed folder. */
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

/** What is mounted needs something of its kind in its place. */
function bind(from: string, to: string, folder: boolean): string {
  const place = folder ? `mkdir -p ${quote(to)}` : `mkdir -p ${quote(dirname(to))} && : >> ${quote(to)}`;
  return `${place} && mount --bind ${quote(from)} ${quote(to)}`;
}
