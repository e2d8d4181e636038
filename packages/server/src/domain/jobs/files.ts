/** Files that jobs take along: names made safe, ids checked. */
import { invalid } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type FileRow, filesByIds, markAttached } from "../../store/queries/jobs/files.ts";

/**
 * A name that can stand in a job's folder: the last part of whatever was sent, without control characters,
 * never empty, never a dot name that means a folder.
 */
export function safeFilename(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must go
  const clean = base.replace(/[\u0000-\u001f\u007f]/g, "").trim();
  return clean === "" || clean === "." || clean === ".." ? "file" : shorten(clean);
}

/** File systems take 255 bytes; the ending says what a file is, so it stays. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= 255) return name;
  const dot = name.lastIndexOf(".");
  const ending = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  let stem = name.slice(0, name.length - ending.length);
  while (Buffer.byteLength(stem + ending) > 255) stem = stem.slice(0, -1);
  return stem.replace(/[\ud800-\udbff]$/, "") + ending;
}

export function readFileIds(ids: readonly (string | number)[]): number[] {
  return [
    ...new Set(
      ids.map((id) => {
        const number = Number(id);
        if (!/^\d+$/.test(String(id)) || !Number.isSafeInteger(number) || number > 0x7fffffff) {
          throw invalid("files", "ids that the upload gave", id);
        }
        return number;
      }),
    ),
  ];
}

/** Every file must exist, belong to the team, and have a name of its own among them. */
export async function attachFiles(db: Db, teamId: number, ids: readonly number[], now: string): Promise<void> {
  if (ids.length === 0) return;
  const rows = await filesByIds(db, ids);
  const missing = ids.filter((id) => !rows.some((row) => row.id === id && row.team_id === teamId));
  if (missing.length > 0) {
    throw invalid(
      "files",
      `ids of files of this team; there is no ${missing.join(", ")} (unused files are removed after a while: upload again)`,
    );
  }
  const twice = rows.find((row) => rows.some((other) => other.id !== row.id && other.filename === row.filename));
  if (twice) throw invalid("files", `files with different names; two are called ${twice.filename}`);
  await markAttached(db, ids, now);
}

/** In the order given. */
export async function filesOfJob(db: Db, fileIds: readonly string[]): Promise<FileRow[]> {
  const ids = fileIds.map(Number);
  if (ids.length === 0) return [];
  const rows = await filesByIds(db, ids);
  return ids.flatMap((id) => rows.find((row) => row.id === id) ?? []);
}
