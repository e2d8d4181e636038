/** Limits on the open files and connections of this process. */
import { readFileSync } from "node:fs";

/** Returns the soft limit on open files, which Node raises to the hard limit when it starts. */
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
    // Only Linux has this file.
    return "";
  }
}

const reportedLimits = () =>
  (process.report.getReport() as unknown as { userLimits: { open_files: { soft: string | number } } }).userLimits;

/**
 * Returns how many connections the limit on open files allows. `reserved` is the number of open files for other
 * purposes. Each connection counts as two open files, because it may also have a log or an upload open.
 */
export const connectionsWithin = (limit: number, reserved: number): number =>
  Math.max(fewestConnections, Math.floor((limit - reserved) / 2));

/** Minimum number of connections that the server accepts, even if the limit on open files is too small for them. */
const fewestConnections = 16;
