/** `millrace restore`: a backup becomes a data folder again. */
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
      throw new CliError("The backup was not restored", {
        why: messageOf(error),
        next: "millrace restore --help",
        cause: error,
      });
    });
  output.note(`${manifest.rows["jobs"] ?? 0} jobs and ${manifest.files} files as of ${manifest.startedAt}`);
  output.note(
    `${failed} jobs were running and are FAILED; ${queued} wait and will run; ${canceled} that waited are CANCELED`,
  );
  for (const { team, versions, missing, unreadable } of stores) {
    if (unreadable !== null) output.note(`warning: the datasets of the team ${team} cannot be read: ${unreadable}`);
    else output.note(`${versions - missing.length} dataset versions of the team ${team} are readable`);
    if (missing.length > 0)
      output.note(`warning: ${missing.length} versions of the team ${team} are not in the backup: they are removed`);
  }
  output.note(
    manifest.withKey
      ? "The key of encrypted values (secret.key) was in the backup."
      : "The key of encrypted values was not in the backup: put the old secret.key into the data folder before the start, or they cannot be read.",
  );
  output.print(config.data.dataDir);
  return 0;
};

export const handlers: HandlersOf<"restore"> = { restore };
