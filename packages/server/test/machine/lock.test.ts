/** Only one server uses a data folder. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { lockDataFolder } from "../../src/machine/lock.ts";

it("the lock of a data folder cannot be opened by others or taken twice", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-lock-"));
  t.after(() => rmSync(folder, { recursive: true }));
  // A lock file of an earlier version.
  writeFileSync(join(folder, "server.lock"), "", { mode: 0o644 });
  const lock = lockDataFolder(new DataFolder(folder));
  assert.equal(statSync(join(folder, "server.lock")).mode & 0o777, 0o600);
  assert.throws(() => lockDataFolder(new DataFolder(folder)), /Another Millrace server uses the data folder/);
  await lock.release();
  await lockDataFolder(new DataFolder(folder)).release();
});
