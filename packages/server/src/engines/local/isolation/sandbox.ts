/**
 * Builds the bubblewrap command line that decides what a job sees of the machine. bubblewrap mounts in the order of its
 * arguments, so a later mount can cover an earlier one.
 */
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
  /** Paths of files outside the data folder that no job may read, not even a job that runs as the server's user. */
  readonly hidden: readonly string[];
  /** Files named in the operator's environment variables for jobs, such as certificates. */
  readonly settingFiles: readonly string[];
  /** Maximum bytes of each tmpfs; 0 for the kernel's default. */
  readonly memory: number;
}

export interface SandboxedAttempt {
  /** The attempt's folder on the machine, which contains input, work and tmp. */
  readonly path: string;
  /** The file that the job sees as /etc/passwd. */
  readonly passwd: string;
  /** The file that the job sees as /etc/group. */
  readonly group: string;
  /** Further paths that the job may read, such as the folders of an interpreter. */
  readonly readable: readonly string[];
  /** Folders below the data folder that the job may write to, such as its team's warehouse. */
  readonly shared: readonly string[];
  /** Subfolders of the attempt's folder that the job may write to. */
  readonly own: readonly string[];
  /** Subfolder of the attempt's folder that is the working directory. */
  readonly cwd: string;
  /** Subfolder of the attempt's folder that the job sees as /tmp. */
  readonly tmp: string;
}

/** File descriptor to which bubblewrap writes the sandbox's PID namespace. The attempt's shell opens it. */
export const infoDescriptor = 5;
/** File descriptor from which bubblewrap reads the seccomp filter. The attempt's shell opens it. */
export const filterDescriptor = 6;

export class Sandbox {
  readonly #options: SandboxOptions;
  readonly #system: readonly string[];

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#system = systemFolders();
  }

  /** The path at which every job sees its attempt's folder. */
  get place(): string {
    return join(this.#options.folders.jobs, "job");
  }

  /**
   * Returns arguments that make the parent folders of all mounts read-only. These folders are in a tmpfs, and no limit
   * counts what a job would write there. The arguments must come after the last mount, because a mount may have to
   * create its mount point in one of these folders.
   */
  seal(): string[] {
    return ["--remount-ro", this.#options.folders.root, "--remount-ro", "/dev", "--remount-ro", "/"];
  }

  /**
   * Returns the bubblewrap command line for a job, without its last mounts. The attempt's shell adds these mounts,
   * because only the shell knows their paths. The job has network access, unless the operator's firewall restricts it.
   */
  words({ path, passwd, group, readable, shared, own, cwd, tmp }: SandboxedAttempt, filtered: boolean): string[] {
    const { bwrap, folders, jobPaths, hidden, settingFiles, memory } = this.#options;
    const { root } = folders;
    const { place } = this;
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
      // An earlier mount may include the data folder. This tmpfs hides all of it except the mounts that follow.
      ...["--tmpfs", root, "--dir", folders.jobs, "--dir", place, "--dir", folders.environments],
      ...["--ro-bind", join(path, "input"), join(place, "input")],
      ...own.flatMap((name) => ["--bind", join(path, name), join(place, name)]),
      ...below(root, shared),
      ...["--chdir", join(place, cwd)],
    ];
  }

  /**
   * Returns the bubblewrap command line for maintenance of a team's warehouse. The command has no network, and of the
   * data folder it sees only the given paths.
   */
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

  /** Whether the file exists in a folder that jobs see, so that it must be hidden explicitly. */
  #shows(file: string): boolean {
    const shown = isSystem(file) || this.#options.jobPaths.some(({ path }) => isBelow(file, path));
    return shown && lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  }
}

/**
 * Returns arguments that mount folders inside the data folder, which is otherwise hidden. `--dir` creates the parent
 * folders, so that the job can traverse them.
 */
const below = (root: string, folders: readonly string[], how = "--bind") => [
  ...foldersAbove(folders)
    .filter((folder) => folder.startsWith(`${root}/`))
    .flatMap((folder) => ["--dir", folder]),
  ...folders.flatMap((folder) => [how, folder, folder]),
];

const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/**
 * Returns arguments that mount /tmp. It is `folder` on disk, or a tmpfs if something else is mounted below /tmp.
 * Nothing may be mounted inside a folder that the job can write to: the job could put a symbolic link there, which the
 * mounts of the next phase would follow.
 */
const temporary = (folder: string, mounted: readonly string[], memory: number) =>
  mounted.some((other) => isBelow(other, "/tmp")) ? inMemory("/tmp", memory) : ["--bind", folder, "/tmp"];

/** Returns arguments that make /var/tmp a link to /tmp, or a tmpfs if something is mounted below /var/tmp. */
const laterTemporary = (mounted: readonly string[], memory: number) =>
  mounted.some((other) => isBelow(other, "/var/tmp"))
    ? inMemory("/var/tmp", memory)
    : ["--symlink", "/tmp", "/var/tmp"];

/** Returns arguments that mount a tmpfs to which every user may write. */
const inMemory = (path: string, memory: number) => [
  ...(memory > 0 ? ["--size", String(memory)] : []),
  ...["--perms", "1777", "--tmpfs", path],
];

const systemRoots = ["/usr", "/etc"];
const isSystem = (path: string) => systemRoots.some((folder) => isBelow(path, folder));

/**
 * Returns arguments that create parent folders which the job can traverse. Parent folders that bubblewrap creates by
 * itself are open only to their owner.
 */
const parents = (paths: readonly string[]) =>
  foldersAbove(paths)
    .filter((folder) => !["/tmp", "/var/tmp"].includes(folder) && !isSystem(folder))
    .flatMap((folder) => ["--dir", folder]);

/** Returns all parent folders of these paths, each before its subfolders. */
function foldersAbove(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== "/"; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].sort();
}

/**
 * Returns arguments that mount the system's programs, libraries and settings, which every user may read. Symbolic links
 * such as /bin stay links.
 */
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

/** Returns arguments that mount the target of /etc/resolv.conf, which is often a link to a file below /run. */
function resolver(): string[] {
  try {
    const real = realpathSync("/etc/resolv.conf");
    return isSystem(real) ? [] : [...parents([real]), "--ro-bind", real, real];
  } catch {
    return [];
  }
}
