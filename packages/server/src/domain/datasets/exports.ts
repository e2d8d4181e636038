/**
 * Exports of dataset versions: creates an export or reuses a recent one, and signs the URLs with which its files are
 * downloaded without a token.
 */
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { getVersion, type ListedVersionRow } from "../../store/queries/datasets/dataset-versions.ts";
import type { FullName } from "../../store/queries/datasets/datasets.ts";
import { type ExportRow, findExport, findUsableExport, insertExport } from "../../store/queries/datasets/exports.ts";
import { nextStretch } from "../../turns/large-answers.ts";
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
  /** Milliseconds from the creation of an export to the deletion of its files. */
  readonly life: number;
}

/** The dataset version to export, and its team. */
interface ExportWish {
  readonly team: Team;
  readonly dataset: FullName;
  readonly version: ListedVersionRow;
}

/**
 * Returns the version's newest export that has not failed, if at least half of the export's lifetime is left. Otherwise
 * creates an export.
 */
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
      `${target} cannot be exported: its rows are not stored on this server, because an external producer registered it. Export it where it was produced.`,
    );
  if (version.num_objects === null)
    throw new ApiError(
      "wrong_state",
      `${target} cannot be exported: the team's warehouse does not say how many rows this version has. Save the dataset again, as a new version.`,
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

/** Maximum number of files in an export. There is a limit because one answer lists the URLs of all files. */
const mostFiles = 10_000;
/**
 * Target size of a file before compression, in bytes. It is small, because the process that writes a file needs several
 * times this size in memory.
 */
const fileBytes = 64 * 1024 ** 2;

/**
 * Returns the number of files that an export of `rows` rows needs. The size of a row is estimated from the preview,
 * which has the first rows of the version.
 */
function countFiles(rows: number, preview: string | null, { rowsPerFile }: ExportRules): number {
  const text = arrayText(preview) ?? "[]";
  const shown = (JSON.parse(text) as unknown[]).length;
  const fitting = shown === 0 ? rowsPerFile : Math.max(1, Math.floor(fileBytes / (text.length / shown)));
  return Math.max(0, Math.ceil(rows / Math.min(rowsPerFile, fitting)));
}

/**
 * Returns the range of rows in the next file. The range is computed from the stored number of files, so a change of the
 * settings does not affect an export that has begun.
 */
export function rowsOfFile({ num_files, files_done }: ExportRow, rows: number): { from: number; limit: number } {
  const limit = Math.ceil(rows / num_files);
  return { from: files_done * limit, limit };
}

/** Returns the export with this id. Throws `not_found` if the team has no such export. */
export async function getExport(db: Db, team: Team, id: string): Promise<ExportRow> {
  const row = await findExport(db, id);
  if (row?.team_id === team.id) return row;
  throw new ApiError("not_found", `There is no export ${id} in the team ${team.name}. Request a new export.`);
}

const label = "export url";

const sign = (key: Buffer, id: string, file: number, expires: number) =>
  createHmac("sha256", key).update(`${id} ${file} ${expires}`).digest("base64url");

/** Number of URLs that are signed without a pause for other requests. */
const signedAtOnce = 500;

/** Returns the signed URLs of the files of an export. They expire when the files are deleted. */
export async function exportUrls(
  keys: KeyRing,
  publicUrl: string,
  row: ExportRow,
  { life }: ExportRules,
): Promise<string[]> {
  const expires = Math.floor((Date.parse(row.created_at) + life) / 1000);
  const [key = Buffer.alloc(0)] = keys.derive(label);
  const urls: string[] = [];
  while (urls.length < row.num_files) {
    if (urls.length % signedAtOnce === 0 && row.num_files > signedAtOnce) await nextStretch();
    const file = urls.length;
    const query = `expires=${expires}&signature=${sign(key, row.id, file, expires)}`;
    urls.push(`${publicUrl}/api/datachain/datasets/export-files/${row.id}/${file}?${query}`);
  }
  return urls;
}

interface SignedFile {
  readonly id: string;
  readonly file: number;
  readonly expires: number;
  readonly signature: string;
}

/**
 * Throws unless the URL is signed with one of the server's keys and has not expired. Signatures of older keys are
 * accepted, because keys may be rotated while exports exist.
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
