/** Files that are attached to jobs: makes file names safe, and checks file ids. */
import { invalid } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type FileRow, filesByIds, markAttached } from "../../store/queries/jobs/files.ts";

/**
 * Returns a name that is safe in the job's folder: the last part of the uploaded path, without control characters. The
 * names "", "." and ".." become "file".
 */
export function safeFilename(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed here
  const clean = base.replace(/[\u0000-\u001f\u007f]/g, "").trim();
  return clean === "" || clean === "." || clean === ".." ? "file" : shorten(clean);
}

/** Shortens a name to 255 bytes, the maximum of most file systems. A short extension is kept. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= 255) return name;
  const dot = name.lastIndexOf(".");
  const ending = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  let stem = name.slice(0, name.length - ending.length);
  while (Buffer.byteLength(stem + ending) > 255) stem = stem.slice(0, -1);
  return stem.replace(/[\ud800-\udbff]$/, "") + ending;
}

/** Converts the file ids of a request to numbers, without duplicates. */
export function readFileIds(ids: readonly (string | number)[]): number[] {
  return [
    ...new Set(
      ids.map((id) => {
        const number = Number(id);
        if (!/^\d+$/.test(String(id)) || !Number.isSafeInteger(number) || number > 0x7fffffff) {
          throw invalid("files", "ids that an upload returned", id);
        }
        return number;
      }),
    ),
  ];
}

/**
 * Marks files as used by a job. Throws if the team has no file with one of these ids, or if two of the files have the
 * same name.
 */
export async function attachFiles(db: Db, teamId: number, ids: readonly number[], now: string): Promise<void> {
  if (ids.length === 0) return;
  const rows = await filesByIds(db, ids);
  const missing = ids.filter((id) => !rows.some((row) => row.id === id && row.team_id === teamId));
  if (missing.length > 0) {
    throw invalid(
      "files",
      `ids of files of this team, but these do not exist: ${missing.join(", ")}. Upload the files again: the server deletes files that no job uses`,
    );
  }
  const twice = rows.find((row) => rows.some((other) => other.id !== row.id && other.filename === row.filename));
  if (twice) throw invalid("files", `files with different names, but two are called ${twice.filename}`);
  await markAttached(db, ids, now);
}

/** Returns the files with these ids, in the same order. Files that do not exist are left out. */
export async function filesOfJob(db: Db, fileIds: readonly string[]): Promise<FileRow[]> {
  const ids = fileIds.map(Number);
  if (ids.length === 0) return [];
  const rows = await filesByIds(db, ids);
  return ids.flatMap((id) => rows.find((row) => row.id === id) ?? []);
}
