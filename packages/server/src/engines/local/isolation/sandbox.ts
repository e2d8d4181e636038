/** What a job sees of the machine inside bubblewrap: words of a command line, in the order in which they are mounted. */
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EngineFolders } from "../engine-folders.ts";

export interface JobPath {
  readonly path: string;
  readonly mode: "ro" | "rw";
}

export interface SandboxOptions {
  readonly bwrap: string;
  readonly folders: EngineFolders;
  readonly jobPaths: readonly JobPath[];
  /** Files outside the data folder that no job may read, though the server's user may. */
  readonly hidden: readonly string[];
  /** Files that the operator's settings for jobs name: certificates and the like. */
  readonly settingFiles: readonly string[];
  /** Bytes that each file system in memory may hold; 0: as many as the kernel lets it. */
  readonly memory: number;
}

export interface SandboxedAttempt {
  /** The attempt's own folder, with input, work and tmp. */
  readonly path: string;
  /** Accounts as the job sees them: files in the form of /etc/passwd and /etc/group. */
  readonly passwd: string;
  readonly group: string;
  /** More that it may read: an interpreter's folders, a program. */
  readonly readable: readonly string[];
  /** Folders below the data folder that it may change: its team's store. */
  readonly shared: readonly string[];
  /** Folders in its own folder that it may change, where it begins, and what it has as /tmp. */
  readonly own: readonly string[];
  readonly cwd: string;
  readonly tmp: string;
}

/** Where the number of the namespace is written: the shell opens this descriptor. */
export const infoDescriptor = 5;
/** Where the filter of system calls is read from: the same. */
export const filterDescriptor = 6;

export class Sandbox {
  readonly #options: SandboxOptions;
  readonly #system: readonly string[];

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#system = systemFolders();
  }

  /**
   * Comes after the last mount, which may need a folder to be made for it. What holds the mounts lies in memory, and nobody
   * would count what a job puts there.
   */
  seal(): string[] {
    return ["--remount-ro", this.#options.folders.root, "--remount-ro", "/dev", "--remount-ro", "/"];
  }

  /** Up to the mounts that only the attempt's shell knows. The network stays: what it reaches is for the operator's firewall to say. */
  words({ path, passwd, group, readable, shared, own, cwd, tmp }: SandboxedAttempt, filtered: boolean): string[] {
    const { bwrap, folders, jobPaths, hidden, settingFiles, memory } = this.#options;
    const { root } = folders;
    const extra = [...new Set([...readable, ...settingFiles])].filter((folder) => !isSystem(folder));
    const mounted = [...extra, ...jobPaths.map((jobPath) => jobPath.path), root];
    return [
      bwrap,
      ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
      ...["--die-with-parent", "--new-session", "--info-fd", String(infoDescriptor)],
      ...(filtered ? ["--seccomp", String(filterDescriptor)] : []),
      ...this.#system,
      ...["--ro-bind", passwd, "/etc/passwd", "--ro-bind", group, "/etc/group"],
      ...["--proc", "/proc", "--dev", "/dev", ...inMemory("/dev/shm", memory)],
      ...temporary(join(path, tmp), mounted, memory),
      ...laterTemporary(mounted, memory),
      ...parents(mounted),
      ...extra.flatMap((folder) => ["--ro-bind-try", folder, folder]),
      ...jobPaths.flatMap((jobPath) => [jobPath.mode === "ro" ? "--ro-bind" : "--bind", jobPath.path, jobPath.path]),
      ...hidden.filter((file) => this.#shows(file)).flatMap((file) => ["--ro-bind", "/dev/null", file]),
      // Whatever else was mounted above it, nothing of the data folder shows but what follows.
      ...["--tmpfs", root, "--dir", folders.jobs, "--dir", path, "--dir", folders.environments],
      ...["--ro-bind", join(path, "input"), join(path, "input")],
      ...own.flatMap((name) => ["--bind", join(path, name), join(path, name)]),
      ...below(root, shared),
      ...["--chdir", join(path, cwd)],
    ];
  }

  /** For a command of ours that looks after a team's warehouse: no network, and of the data folder only what is named. */
  storeWords({ readable, writable }: { readable: readonly string[]; writable: readonly string[] }): string[] {
    const { bwrap, folders, memory } = this.#options;
    const { root } = folders;
    const extra = readable.filter((folder) => !isSystem(folder));
    const outside = extra.filter((folder) => !isBelow(folder, root));
    const inside = extra.filter((folder) => isBelow(folder, root));
    return [
      bwrap,
      ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try"],
      ...["--die-with-parent", "--new-session"],
      ...this.#system,
      ...["--proc", "/proc", "--dev", "/dev", ...inMemory("/tmp", memory)],
      ...laterTemporary([...outside, root], memory),
      ...parents([...outside, root]),
      ...outside.flatMap((folder) => ["--ro-bind", folder, folder]),
      ...["--tmpfs", root],
      ...below(root, inside, "--ro-bind"),
      ...below(root, writable),
      ...["--chdir", "/"],
    ];
  }

  /** Whether a file would be there if nothing hid it. */
  #shows(file: string): boolean {
    const shown = isSystem(file) || this.#options.jobPaths.some(({ path }) => isBelow(file, path));
    return shown && lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  }
}

/** Mounted below the data folder, which shows nothing else; the way there can be passed. */
const below = (root: string, folders: readonly string[], how = "--bind") => [
  ...foldersAbove(folders)
    .filter((folder) => folder.startsWith(`${root}/`))
    .flatMap((folder) => ["--dir", folder]),
  ...folders.flatMap((folder) => [how, folder, folder]),
];

const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/**
 * On disk, in the attempt's folder, unless something is to be mounted below /tmp: a mount point must not lie in a folder
 * of the job's, for the next phase's mounts would follow a link that the job left there.
 */
const temporary = (folder: string, mounted: readonly string[], memory: number) =>
  mounted.some((other) => isBelow(other, "/tmp")) ? inMemory("/tmp", memory) : ["--bind", folder, "/tmp"];

/** /var/tmp is /tmp, unless something is to be mounted below it. */
const laterTemporary = (mounted: readonly string[], memory: number) =>
  mounted.some((other) => isBelow(other, "/var/tmp"))
    ? inMemory("/var/tmp", memory)
    : ["--symlink", "/tmp", "/var/tmp"];

/** A file system in memory that everybody may write to, as /tmp. */
const inMemory = (path: string, memory: number) => [
  ...(memory > 0 ? ["--size", String(memory)] : []),
  ...["--perms", "1777", "--tmpfs", path],
];

const systemRoots = ["/usr", "/etc"];
const isSystem = (path: string) => systemRoots.some((folder) => isBelow(path, folder));

/** Folders that bubblewrap makes by itself are its maker's alone; a job must be able to pass them. */
const parents = (paths: readonly string[]) =>
  foldersAbove(paths)
    .filter((folder) => !["/tmp", "/var/tmp"].includes(folder) && !isSystem(folder))
    .flatMap((folder) => ["--dir", folder]);

/** Outer before inner. */
function foldersAbove(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== "/"; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].sort();
}

/** Programs, libraries and settings that everybody on the machine may read; links at the top stay links. */
function systemFolders(): string[] {
  const links = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"].flatMap((path) => {
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (!entry) return [];
    return entry.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  });
  return [
    ...systemRoots.flatMap((path) => ["--ro-bind", path, path]),
    ...links,
    ...["--dir", "/var", "--dir", "/run"],
    ...resolver(),
  ];
}

/** Name resolution is often set up by a service whose file lies below /run. */
function resolver(): string[] {
  try {
    const real = realpathSync("/etc/resolv.conf");
    return isSystem(real) ? [] : [...parents([real]), "--ro-bind", real, real];
  } catch {
    return [];
  }
}
