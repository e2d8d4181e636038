/** How many files and connections this process may have open. */
import { readFileSync } from "node:fs";

/** The soft limit: Node raises it to the hard one when it starts. */
export function openFilesLimit(): number {
  const line = /^Max open files +(\w+)/m.exec(limitsText());
  const { open_files } = line ? { open_files: { soft: line[1] } } : reportedLimits();
  const limit = Number(open_files.soft);
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit;
}

function limitsText(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Not on Linux.
    return "";
  }
}

const reportedLimits = () =>
  (process.report.getReport() as unknown as { userLimits: { open_files: { soft: string | number } } }).userLimits;

/** Connections that leave this many files to everything else: beside itself each may need a log or an upload. */
export const connectionsWithin = (limit: number, reserved: number): number =>
  Math.max(fewestConnections, Math.floor((limit - reserved) / 2));

/** So that a small limit does not lock everybody out. */
const fewestConnections = 16;
