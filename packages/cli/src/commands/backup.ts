/** `millrace backup`: everything that a server knows, in a folder. */
import { CliError, messageOf } from "../errors.ts";
import { sizeText } from "../job/view.ts";
import { loadServer, serverConfig } from "../server.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const backup: Handler<"backup"> = async ({ flags, arguments: { DIR } }, output) => {
  const server = await loadServer();
  const options = { withKey: flags["with-key"], onProgress: (text: string) => output.progress(text) };
  const manifest = await server.backup(serverConfig(server, flags), DIR, options).catch((error: unknown) => {
    throw new CliError("The backup was not made", {
      why: messageOf(error),
      next: "millrace backup --help",
      cause: error,
    });
  });
  const { rows, files, bytes, startedAt, withKey } = manifest;
  output.note(`${rows["jobs"] ?? 0} jobs and ${files} files (${sizeText(bytes)}) as of ${startedAt}`);
  output.note(
    withKey
      ? "The key of encrypted values (secret.key) is in it: whoever has the backup can read them."
      : "The key of encrypted values (secret.key) is not in it: keep a copy of it elsewhere, or they are lost with it.",
  );
  output.print(DIR);
  return 0;
};

export const handlers: HandlersOf<"backup"> = { backup };
