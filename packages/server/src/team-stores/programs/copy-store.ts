/** A copy of a team's store, taken while jobs go on, for the night when somebody needs it. */
import { backup } from "node:sqlite";
import { openDatabase, type StoreFiles } from "../open-store.ts";
import { unusable } from "../unusable.ts";

/** What is known of datasets first, their rows after: no version of the copy lacks its rows. */
export async function copyStore(files: StoreFiles, to: StoreFiles): Promise<void> {
  for (const part of ["metadata", "rows"] as const) {
    const source = openDatabase(files[part], "read");
    const [result] = Object.values(source.prepare("pragma quick_check(1)").get() ?? {});
    if (result !== "ok") throw unusable(`it is damaged (${String(result).slice(0, 200)})`);
    // All pages at once: a copy in steps begins anew whenever a job writes.
    await backup(source, to[part], { rate: 2 ** 30 });
    source.close();
  }
}
