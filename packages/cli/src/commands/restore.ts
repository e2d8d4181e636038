/** `millrace restore`: restores a backup into an empty data folder. */
import { CliError, messageOf } from "../errors.ts";
import { loadServer, serverConfig } from "../server.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const restore: Handler<"restore"> = async ({ flags, arguments: { DIR } }, output) => {
  const server = await loadServer();
  const config = serverConfig(server, flags);
  const options = { cancelQueued: flags["cancel-queued"], onProgress: (text: string) => output.progress(text) };
  const { manifest, stores, failed, queued, canceled } = await server
    .restore(config, DIR, options)
    .catch((error: unknown) => {
      throw new CliError("The restore failed", {
        why: messageOf(error),
        next: "Correct the cause, then run the restore again; if files of the failed restore are left, that run says what to delete",
        cause: error,
      });
    });
  output.note(`${manifest.rows["jobs"] ?? 0} jobs and ${manifest.files} files as of ${manifest.startedAt}`);
  output.note(
    `${failed} running jobs became FAILED; ${queued} waiting jobs will run; ${canceled} waiting jobs were CANCELED`,
  );
  for (const { team, versions, missing, unreadable } of stores) {
    if (unreadable !== null) output.note(`warning: the datasets of the team ${team} cannot be read: ${unreadable}`);
    else output.note(`${versions - missing.length} dataset versions of the team ${team} are readable`);
    if (missing.length > 0)
      output.note(`warning: ${missing.length} versions of the team ${team} are not in the backup and were removed`);
  }
  output.note(
    manifest.withKey
      ? "The backup contained the encryption key (secret.key)."
      : "The backup did not contain the encryption key: copy the old secret.key into the data folder before you start the server, or secrets cannot be decrypted.",
  );
  output.print(config.data.dataDir);
  return 0;
};

export const handlers: HandlersOf<"restore"> = { restore };
