/** Counts files and bytes in a folder, separately for each of its subfolders. */
import { sizeText } from "../job/view.ts";
import type { Column } from "../output.ts";
import { lookUp, type Place } from "./lookup.ts";

export interface Usage {
  /**
   * Name of the subfolder, with a slash at the end. It is `.` in the row of the files directly in the folder, and empty
   * in the row of the total.
   */
  readonly path: string;
  files: number;
  bytes: number;
}

/** Returns one row for each subfolder, one for the files directly in the folder, and as the last row the total. */
export async function usageBelow(place: Place, signal: AbortSignal): Promise<Usage[]> {
  const rows = new Map<string, Usage>();
  const total: Usage = { path: "", files: 0, bytes: 0 };
  for await (const { path, size } of place.storage.list({ recursive: true, versions: false, signal })) {
    const slash = path.indexOf("/");
    const name = slash < 0 ? "." : path.slice(0, slash + 1);
    const row = rows.get(name) ?? { path: name, files: 0, bytes: 0 };
    rows.set(name, row);
    for (const counted of [row, total]) {
      counted.files += 1;
      counted.bytes += size;
    }
  }
  if (total.files === 0) await addFileItself(place, total, signal);
  return [...rows.values(), total];
}

/** If the URI names a file, adds this file to the total. Throws if the URI names nothing. */
async function addFileItself(place: Place, total: Usage, signal: AbortSignal): Promise<void> {
  const { type, size } = await lookUp(place, signal);
  if (type !== "file") return;
  total.files = 1;
  total.bytes = size;
}

export const usageColumns: Column<Usage>[] = [
  { title: "SIZE", full: ({ bytes }) => String(bytes), short: ({ bytes }) => sizeText(bytes) },
  { title: "FILES", full: ({ files }) => String(files) },
  { title: "PATH", full: ({ path }) => path, short: ({ path }) => path || "(all)" },
];
