/** Checks the file system of the data folder: its kind, its free space, and who else can read the files. */
import type { StatsFs } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { DataSettings } from "../../configuration/groups/data.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import type { Finding } from "./finding.ts";

type Folder = Pick<DataSettings, "dataDir">;

/** Returns the statistics of the file system that holds the data folder, or will hold it once it exists. */
async function statfsOf(dataDir: string): Promise<StatsFs> {
  return statfs(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || dataDir === dirname(dataDir)) return statfs("/");
    return statfsOf(dirname(dataDir));
  });
}

/**
 * Network file systems, by the magic number that `statfs` returns. The data folder must not be on one, because locks
 * and SQLite's shared memory do not work across machines.
 */
const networkKinds: Record<number, string> = {
  [0x6969]: "NFS",
  [0x517b]: "SMB",
  [0xff534d42]: "CIFS",
  [0xfe534d42]: "SMB2",
  [0x5346414f]: "AFS",
  [0x00c36400]: "Ceph",
  [0x0bd00bd0]: "Lustre",
  [0x01021997]: "9P",
};
const memoryKinds: Record<number, string> = { [0x01021994]: "tmpfs", [0x858458f6]: "ramfs" };

/** Returns the problem with a kind of file system; undefined if it is suitable. */
export function describeKind(type: number): Pick<Finding, "level" | "message" | "next"> | undefined {
  const network = networkKinds[type];
  if (network) {
    const message = `${network}: file locks and synced writes are not reliable on a network file system`;
    return { level: "error", message, next: "choose a folder on a local disk with --data-dir" };
  }
  const memory = memoryKinds[type];
  if (!memory) return undefined;
  const message = `${memory}: all data is lost when the machine restarts`;
  return { level: "warn", message, next: "choose a folder on a disk with --data-dir" };
}

export async function checkFileSystem({ dataDir }: Folder): Promise<Finding> {
  const { type } = await statfsOf(dataDir);
  return { topic: "file system", ...(describeKind(type) ?? { level: "ok", message: "local" }) };
}

export async function checkDisk({ dataDir, diskFloor }: Pick<DataSettings, "dataDir" | "diskFloor">): Promise<Finding> {
  const { bavail, bsize } = await statfsOf(dataDir);
  return describeRoom(bavail * bsize, diskFloor);
}

export function describeRoom(free: number, floor: number): Finding {
  const topic = "disk";
  const message = `${gibibytes(free)} GiB free`;
  if (free < floor) {
    const next = "free some space, or lower MILLRACE_DISK_FLOOR; until then no job is accepted or started";
    return { level: "error", topic, message: `${message}, less than the required ${gibibytes(floor)} GiB`, next };
  }
  if (free < Math.max(2 * floor, 1024 ** 3))
    return { level: "warn", topic, message, next: "free some space: logs and uploads need it" };
  return { level: "ok", topic, message };
}

const gibibytes = (bytes: number) => (bytes / 1024 ** 3).toFixed(1);

export async function checkInodes({ dataDir }: Folder): Promise<Finding> {
  const { files, ffree } = await statfsOf(dataDir);
  return describeInodes(files, ffree);
}

/**
 * Describes the free inodes; every job uses a few. A file system without a fixed number of inodes reports 0 in total.
 */
export function describeInodes(files: number, free: number): Finding {
  const topic = "inodes";
  if (files === 0) return { level: "ok", topic, message: "not limited" };
  const message = `${free.toLocaleString("en")} of ${files.toLocaleString("en")} free`;
  if (free >= 100_000 || free > files / 20) return { level: "ok", topic, message };
  const next = "remove small files, lower MILLRACE_LOG_DAYS, or use a file system with more inodes";
  return { level: free < 1000 ? "error" : "warn", topic, message, next };
}

/**
 * Checks that only the owner can read the encryption key. If other users can enter the data folder, the files of the
 * database must be private too.
 */
export async function checkPermissions({ dataDir }: Folder): Promise<Finding> {
  const modeOf = async (path: string) => ((await stat(path).catch(() => undefined))?.mode ?? 0) & 0o777;
  const wide: string[] = [];
  const { keys: key, storeFile } = new DataFolder(dataDir);
  if ((await modeOf(key)) & 0o077) wide.push(key);
  const folder = await modeOf(dataDir);
  for (const suffix of folder & 0o011 ? ["", "-wal", "-shm"] : []) {
    const file = storeFile + suffix;
    if ((await modeOf(file)) & 0o066) wide.push(file);
  }
  if (wide.length > 0) {
    const message = `other users of this machine can read ${wide.join(", ")}`;
    return { level: "error", topic: "permissions", message, next: `chmod 600 ${wide.join(" ")}` };
  }
  if (folder & 0o066) {
    const message = `other users of this machine can list ${dataDir}`;
    return { level: "warn", topic: "permissions", message, next: `chmod 700 ${dataDir}` };
  }
  return { level: "ok", topic: "permissions", message: "only the owner can read the database and the key" };
}
