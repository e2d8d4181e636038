/**
 * Exports of dataset versions: creates them, reuses recent ones, and signs the URLs that fetch their files without a
 * token.
 */
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { getVersion, type ListedVersionRow } from "../../store/queries/datasets/dataset-versions.ts";
import type { FullName } from "../../store/queries/datasets/datasets.ts";
import { type ExportRow, findExport, findUsableExport, insertExport } from "../../store/queries/datasets/exports.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { type DiskQuotas, whyNoExports } from "../access/quotas.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { fullName } from "./dataset-names.ts";
import { arrayText } from "./json-texts.ts";

export interface ExportRules {
  /** Maximum number of rows in one file. Files with wide rows have fewer. */
  readonly rowsPerFile: number;
  /** Milliseconds after which the files are deleted. */
  readonly life: number;
}

/** The dataset version that a request exports. */
interface ExportWish {
  readonly team: Team;
  readonly dataset: FullName;
  readonly version: ListedVersionRow;
}

/** Returns a recent export of the version that has at least half its lifetime left, or creates a new one. */
export async function wantExport(
  { db, actor, now }: Edit,
  { team, dataset, version }: ExportWish,
  rules: ExportRules,
  quotas: DiskQuotas,
): Promise<ExportRow> {
  const target = `${fullName(dataset)}@${version.version}`;
  if (version.rows_table === null)
    throw new ApiError(
      "wrong_state",
      `The rows of ${target} are not stored on this server: an external producer registered it. Export it where it was produced.`,
    );
  if (version.num_objects === null)
    throw new ApiError(
      "wrong_state",
      `${target} cannot be exported: the team's warehouse does not say how many rows it has. Save the dataset again, as a new version.`,
    );
  const usable = await findUsableExport(db, version.id, iso(now - rules.life / 2));
  if (usable) return usable;
  const why = await whyNoExports(db, team.id, quotas);
  if (why !== undefined) throw new ApiError("wrong_state", why);
  const files = countFiles(version.num_objects, (await getVersion(db, version.id))?.preview ?? null, rules);
  if (files > mostFiles)
    throw new ApiError(
      "wrong_state",
      `${target} cannot be exported: its ${version.num_objects} rows need more than ${mostFiles} files, the maximum. The operator of the server can allow more rows in a file (MILLRACE_EXPORT_ROWS).`,
    );
  const row: ExportRow = {
    id: randomUUID(),
    team_id: team.id,
    version_id: version.id,
    status: files === 0 ? "complete" : "pending",
    num_files: files,
    files_done: 0,
    bytes: 0,
    error: null,
    created_at: iso(now),
  };
  await insertExport(db, row);
  await audit(db, actor, { action: "dataset.export", team, target }, now);
  return row;
}

/** Maximum number of files in an export. It is limited because one answer lists all their URLs. */
const mostFiles = 10_000;
/**
 * Target size of a file before compression, in bytes. The process that writes the file holds it in memory several times
 * over.
 */
const fileBytes = 64 * 1024 ** 2;

/**
 * Returns the number of files for this number of rows. The preview, the first rows of the version, tells how wide the
 * rows are.
 */
function countFiles(rows: number, preview: string | null, { rowsPerFile }: ExportRules): number {
  const text = arrayText(preview) ?? "[]";
  const shown = (JSON.parse(text) as unknown[]).length;
  const fitting = shown === 0 ? rowsPerFile : Math.max(1, Math.floor(fileBytes / (text.length / shown)));
  return Math.max(0, Math.ceil(rows / Math.min(rowsPerFile, fitting)));
}

/**
 * Returns the range of rows in the next file. It depends only on the stored export, so a changed setting does not
 * affect it.
 */
export function rowsOfFile({ num_files, files_done }: ExportRow, rows: number): { from: number; limit: number } {
  const limit = Math.ceil(rows / num_files);
  return { from: files_done * limit, limit };
}

/** Returns an export of the team, or throws `not_found`. */
export async function getExport(db: Db, team: Team, id: string): Promise<ExportRow> {
  const row = await findExport(db, id);
  if (row?.team_id === team.id) return row;
  throw new ApiError("not_found", `There is no export ${id} in the team ${team.name}. Request a new export.`);
}

const label = "export url";

const sign = (key: Buffer, id: string, file: number, expires: number) =>
  createHmac("sha256", key).update(`${id} ${file} ${expires}`).digest("base64url");

/** Returns the signed URLs of the files of an export. They expire when the files are deleted. */
export function exportUrls(keys: KeyRing, publicUrl: string, row: ExportRow, { life }: ExportRules): string[] {
  const expires = Math.floor((Date.parse(row.created_at) + life) / 1000);
  const [key = Buffer.alloc(0)] = keys.derive(label);
  return Array.from({ length: row.num_files }, (_, file) => {
    const query = new URLSearchParams({ expires: String(expires), signature: sign(key, row.id, file, expires) });
    return `${publicUrl}/api/datachain/datasets/export-files/${row.id}/${file}?${query}`;
  });
}

interface SignedFile {
  readonly id: string;
  readonly file: number;
  readonly expires: number;
  readonly signature: string;
}

/**
 * Throws unless the URL is signed with a key of the ring and has not expired. Older keys are accepted too, because keys
 * may be rotated while exports exist.
 */
export function checkSignature(keys: KeyRing, { id, file, expires, signature }: SignedFile, now: number): void {
  const given = Buffer.from(signature);
  const isOurs = keys.derive(label).some((key) => {
    const own = Buffer.from(sign(key, id, file, expires));
    return own.length === given.length && timingSafeEqual(own, given);
  });
  if (!isOurs)
    throw new ApiError(
      "forbidden",
      "The signature of this URL is invalid. Use the URL exactly as the export returned it.",
    );
  if (expires * 1000 <= now) throw new ApiError("forbidden", "The URL has expired. Request a new export.");
}
