import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ErrorCode } from "@millrace/storage";
import type { CliError } from "../src/errors.ts";
import { withStorage } from "../src/storage/with-storage.ts";

/** How the command line shows an error of the library. */
async function explained(code: ErrorCode, scheme: string, requestId?: string): Promise<CliError> {
  const failing = withStorage(async ({ library }) => {
    throw new library.StorageError(code, "refused", { scheme, requestId });
  });
  return failing.then(assert.fail, (error: CliError) => error);
}

describe("errors of storages", () => {
  test("an error suggests credentials only for storages that have them, not for local files", async () => {
    assert.match((await explained("permission", "s3")).next ?? "", /^Pass credentials/);
    assert.equal(
      (await explained("permission", "file")).next,
      "Run the command as a user who has permission for this file",
    );
  });

  test("the request id is shown with the message, not as the reason", async () => {
    const { message, why } = await explained("failed", "s3", "R1");
    assert.deepEqual([message, why], ["refused (request R1)", undefined]);
  });
});
