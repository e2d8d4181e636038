/** Copies of a team's store: what jobs may have made of its files. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it } from "node:test";
import { copyStore } from "../../src/team-stores/programs/copy-store.ts";

it("a store whose files have holes is not copied: the copy would be a thousand times as large", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-copy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const filesIn = (name: string) => {
    mkdirSync(join(folder, name));
    return { metadata: join(folder, name, "metadata.db"), rows: join(folder, name, "rows.db") };
  };
  const store = filesIn("store");
  for (const path of Object.values(store)) {
    const db = new DatabaseSync(path);
    db.exec("create table datasets_versions (id integer); create table datasets (id integer)");
    db.close();
  }
  truncateSync(store.rows, 5 * 1024 ** 3);
  const to = filesIn("copy");
  await assert.rejects(copyStore(store, { to, registered: [] }), /its files have holes/);
  assert.equal(statSync(to.rows, { throwIfNoEntry: false }), undefined);
});
