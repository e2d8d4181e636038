/** Builds the JSON of all versions of a dataset in batches, so that a large answer does not block the event loop. */

import type { Db } from "../../store/drivers/store.ts";
import { type SizedVersionRow, schemasOf, textsOf } from "../../store/queries/datasets/dataset-versions.ts";
import { nextStretch, stretchesOf } from "../../turns/large-answers.ts";
import { type VersionText, versionText } from "./dataset-documents.ts";

/** Maximum size of all schemas in one answer, in bytes. All previews and scripts in one answer have the same limit. */
const mostBytes = 8 * 1024 ** 2;

/**
 * Returns the JSON of the versions in the given order, oldest first. Schemas, previews and scripts are included as far
 * as they fit: those of the named version first of all, then those of newer versions before those of older ones.
 */
export async function versionTexts(
  db: Db,
  versions: readonly SizedVersionRow[],
  isNamed: (row: SizedVersionRow) => boolean,
): Promise<VersionText[]> {
  const newestFirst = versions.toReversed();
  const wanted = [...newestFirst.filter(isNamed), ...newestFirst.filter((row) => !isNamed(row))];
  const fits = { schemas: fitting(wanted, "schema_bytes"), texts: fitting(wanted, "text_bytes") };
  const bytesOf = (row: SizedVersionRow) =>
    smallBytes + (fits.schemas.has(row.id) ? row.schema_bytes : 0) + (fits.texts.has(row.id) ? row.text_bytes : 0);
  const stretches = stretchesOf(versions, bytesOf);
  const shown: VersionText[] = [];
  for (const stretch of stretches) {
    if (stretches.length > 1) await nextStretch();
    const those = (fit: ReadonlySet<number>) => stretch.map(({ id }) => id).filter((id) => fit.has(id));
    const schemas = await schemasOf(db, those(fits.schemas));
    const texts = await textsOf(db, those(fits.texts));
    shown.push(...stretch.map((row) => versionText(row, schemas.get(row.id), texts.get(row.id))));
  }
  return shown;
}

/** Approximate size of a version without schemas, preview and scripts, in bytes. */
const smallBytes = 512;

/**
 * Returns the ids of the first versions in the list whose schemas (or texts) have at most `mostBytes` in total. The
 * first version is always included, even if it is larger.
 */
function fitting(versions: readonly SizedVersionRow[], size: "schema_bytes" | "text_bytes"): Set<number> {
  let total = 0;
  const end = versions.findIndex((row, index) => {
    total += row[size];
    return total > mostBytes && index > 0;
  });
  return new Set(versions.slice(0, end < 0 ? versions.length : end).map(({ id }) => id));
}
