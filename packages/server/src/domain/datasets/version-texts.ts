/** The versions of one dataset as its answer shows them, read and written a stretch at a time. */

import type { Db } from "../../store/drivers/store.ts";
import { type SizedVersionRow, schemasOf, textsOf } from "../../store/queries/datasets/dataset-versions.ts";
import { nextStretch, stretchesOf } from "../../turns/large-answers.ts";
import { type VersionText, versionText } from "./dataset-documents.ts";

/** Bytes of schemas in one answer, and as many of first rows and scripts. */
const mostBytes = 8 * 1024 ** 2;

/** Oldest first, as they are given. What is large is there as far as it fits, of the named one always. */
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

/** Of a version without what is large. */
const smallBytes = 512;

/** Ids of the first ones that fit together; of the very first in any case. */
function fitting(versions: readonly SizedVersionRow[], size: "schema_bytes" | "text_bytes"): Set<number> {
  let total = 0;
  const end = versions.findIndex((row, index) => {
    total += row[size];
    return total > mostBytes && index > 0;
  });
  return new Set(versions.slice(0, end < 0 ? versions.length : end).map(({ id }) => id));
}
