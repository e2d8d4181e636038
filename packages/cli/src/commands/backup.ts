/** `millrace backup`: writes all data of a server to a folder, and verifies that the folder can be restored. */
import { CliError, messageOf } from "../errors.ts";
import { ageText, sizeText } from "../job/view.ts";
import type { Output } from "../output.ts";
import { loadServer, type Manifest, serverConfig } from "../server.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const backup: Handler<"backup"> = async ({ flags, arguments: { DIR } }, output) => {
  const server = await loadServer();
  const options = { withKey: flags["with-key"], onProgress: (text: string) => output.progress(text) };
  const manifest = await server.backup(serverConfig(server, flags), DIR, options).catch((error: unknown) => {
    throw new CliError("The backup failed", {
      why: messageOf(error),
      next: "millrace backup --help",
      cause: error,
    });
  });
  tell(manifest, output);
  output.note(
    manifest.withKey
      ? "The backup contains the encryption key (secret.key): anyone who has the backup can decrypt its secrets."
      : "The backup does not contain the encryption key (secret.key): keep a copy of the key elsewhere. Without the key, the secrets in the backup cannot be decrypted.",
  );
  output.note(`Verify the backup: millrace backup verify ${DIR}`);
  output.print(DIR);
  return isWhole(manifest) ? 0 : 1;
};

/**
 * Tells whether the backup is complete. It is incomplete if it contains a daily copy of a warehouse instead of the
 * warehouse itself, or if an upload was missing.
 */
const isWhole = ({ stores = [], uploads }: Manifest) =>
  stores.every(({ from }) => from === "store") && (uploads?.lost ?? []).length === 0;

type WarehousePart = NonNullable<Manifest["stores"]>[number];

/** Prints what the backup contains and when it was taken. */
function tell({ rows, files, bytes, startedAt, stores = [], uploads }: Manifest, output: Output): void {
  output.note(`${rows["jobs"] ?? 0} jobs and ${files} files (${sizeText(bytes)}) as of ${startedAt}`);
  for (const part of stores) output.note(storeText(part, startedAt));
  const [first, ...others] = uploads?.lost ?? [];
  if (first === undefined) return;
  const which = others.length === 0 ? `The upload ${first} is` : `${others.length + 1} uploads are`;
  output.note(
    `warning: ${which} missing on the server, and so in the backup. Jobs that need a missing upload will fail: find the files in an older backup, or upload them again and create new jobs.`,
  );
}

function storeText({ team, from, takenAt, versions, missing, why }: WarehousePart, startedAt: string): string {
  const whose = `Datasets of the team ${team}`;
  if (from === "nothing") return `warning: ${whose}: none of the ${versions} versions is in the backup. ${why}`;
  const held = `${whose}: ${versions - missing.length} versions as of ${takenAt}`;
  if (from === "store")
    return missing.length === 0 ? held : `${held}; ${missing.length} were removed during the backup`;
  const hours = Math.round((Date.parse(startedAt) - Date.parse(takenAt ?? startedAt)) / 3_600_000);
  return `warning: ${held}, from a daily copy that is ${hours} hours old; ${missing.length} versions are missing. ${why}`;
}

const verify: Handler<"backup verify"> = async ({ flags, arguments: { DIR } }, output) => {
  const server = await loadServer();
  const none = { host: undefined, port: undefined, "data-dir": undefined, "database-url": undefined };
  const options = { workDir: flags["work-dir"], onProgress: (text: string) => output.progress(text) };
  const found = await server.verify(serverConfig(server, none), DIR, options).catch((error: unknown) => {
    throw new CliError("The backup cannot be restored", {
      why: messageOf(error),
      next: "Take another backup, verify it, and keep your older backups until then",
      cause: error,
    });
  });
  const { manifest, problems } = found;
  if (flags.json) output.json(found);
  else {
    tell(manifest, output);
    output.print(`${DIR} is ${stateOf(found)}; it was taken ${ageText(manifest.startedAt, Date.now())}`);
  }
  if (problems.length === 0) return 0;
  throw new CliError("The backup is incomplete", { why: problems.join("\n"), next: "Take another backup" });
};

/** Describes a backup that can be restored. Uploads that its server had lost before are not a fault of the backup. */
function stateOf({ manifest, problems }: { manifest: Manifest; problems: readonly string[] }): string {
  if (problems.length > 0) return "readable, but incomplete";
  const lost = manifest.uploads?.lost.length ?? 0;
  if (lost === 0) return "complete and readable";
  return `readable, without ${lost === 1 ? "an upload" : `${lost} uploads`} that its server had lost`;
}

export const handlers: HandlersOf<"backup"> = { backup, "backup verify": verify };
