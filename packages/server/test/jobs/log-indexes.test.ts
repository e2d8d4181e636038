/** The indexes of logs that were read lately: one team that reads many logs does not drop those of others. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { LogIndexes } from "../../src/job-logs/log-indexes.ts";

it("a team that reads many logs drops its own indexes, not those of other teams", () => {
  const indexes = new LogIndexes();
  const quiet = [1, 2, 3].map((teamId) => indexes.of(teamId, `log of ${teamId}`));
  const busy = Array.from({ length: 200 }, (_, log) => indexes.of(9, `log ${log}`));
  assert.deepEqual(
    quiet.map((index, at) => index === indexes.of(at + 1, `log of ${at + 1}`)),
    [true, true, true],
  );
  assert.equal(indexes.of(9, "log 199"), busy[199]);
  assert.notEqual(indexes.of(9, "log 0"), busy[0]);
});
