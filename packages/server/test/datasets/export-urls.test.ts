/** URLs of an export: one answer lists and signs all of them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { checkSignature, exportUrls } from "../../src/domain/datasets/exports.ts";
import { keyRing } from "../support/keys.ts";

const keys = keyRing();

it("are signed with pauses, so that an export of many files does not hold up other requests", async () => {
  const created = new Date();
  const row = {
    ...{ id: "e", team_id: 1, version_id: 1, status: "complete" as const, num_files: 10_000 },
    ...{ files_done: 10_000, bytes: 0, error: null, created_at: created.toISOString() },
  };
  let rounds = 0;
  const count = () => {
    rounds++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const urls = await exportUrls(keys, "http://server", row, { life: 60_000, rowsPerFile: 1 });
  clearImmediate(counting);
  assert.equal(urls.length, 10_000);
  assert.ok(rounds >= 15, `the event loop ran ${rounds} times`);
  const url = new URL(urls[9_999] ?? "");
  assert.equal(url.pathname, "/api/datachain/datasets/export-files/e/9999");
  const [expires, signature] = [Number(url.searchParams.get("expires")), url.searchParams.get("signature") ?? ""];
  checkSignature(keys, { id: "e", file: 9_999, expires, signature }, created.getTime());
});
