/** The file system of the data folder: kind, room, and who else can read what lies there. */
import type { StatsFs } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { DataSettings } from "../../configuration/groups/data.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import type { Finding } from "./finding.ts";

type Folder = Pick<DataSettings, "dataDir">;

/** Of the data folder, or of the place where it will be made. */
async function statfsOf(dataDir: string): Promise<StatsFs> {
  return statfs(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || dataDir === dirname(dataDir)) return statfs("/");
    return statfsOf(dirname(dataDir));
  });
}

/** By the number that the kernel gives them. Locks and the embedded store's shared memory do not work across machines. */
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

/** A kind of file system that will not do, in words; undefined for one that will. */
export function describeKind(type: number): Pick<Finding, "level" | "message" | "next"> | undefined {
  const network = networkKinds[type];
  if (network) {
    const message = `${network}: locks and synced writes cannot be relied on across a network`;
    return { level: "error", message, next: "choose a folder on a local disk with --data-dir" };
  }
  const memory = memoryKinds[type];
  if (!memory) return undefined;
  const message = `${memory}: everything in it is gone when the machine restarts`;
  return { level: "warn", message, next: "choose a folder on a disk with --data-dir" };
}

export async function checkFileSystem({ dataDir }: Folder): Promise<Finding> {
  const { type } = await statfsOf(dataDir);
  return { topic: "file system", ...(describeKind(type) ?? { level: "ok", message: "a local one" }) };
}

export async function checkDisk({ dataDir, diskFloor }: Pick<DataSettings, "dataDir" | "diskFloor">): Promise<Finding> {
  const { bavail, bsize } = await statfsOf(dataDir);
  return describeRoom(bavail * bsize, diskFloor);
}

export function describeRoom(free: number, floor: number): Finding {
  const topic = "disk";
  const message = `${gibibytes(free)} GiB free`;
  if (free < floor) {
    const next = "free some space, or lower MILLRACE_DISK_FLOOR: no job is started or taken until then";
    return { level: "error", topic, message: `${message}, less than the floor of ${gibibytes(floor)} GiB`, next };
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

/** Every job leaves a few small files. A file system that does not count them has 0. */
export function describeInodes(files: number, free: number): Finding {
  const topic = "inodes";
  if (files === 0) return { level: "ok", topic, message: "not limited" };
  const message = `${free} of ${files} free`;
  if (free >= 100_000 || free > files / 20) return { level: "ok", topic, message };
  const next = "remove small files, lower MILLRACE_LOG_DAYS, or use a file system with more inodes";
  return { level: free < 1000 ? "error" : "warn", topic, message, next };
}

/** The key must be its owner's alone; the store, too, where others can come to it. */
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
  return { level: "ok", topic: "permissions", message: "the store and its key are their owner's" };
}
