/**
 * Turns the flags of `pipeline settings` into a request. If a flag is absent, its setting does not change. If a flag
 * has an empty value, its setting is removed.
 */
import type { UpdatePipelineSettingsInput } from "@millrace/contract";
import type { Input } from "../arguments.ts";
import type { Connection } from "../connection.ts";
import { usageError } from "../errors.ts";
import { joinTexts, retryRules } from "../job/compose.ts";
import type { Output } from "../output.ts";

export async function composeSettings(
  { flags, arguments: { NAME } }: Input<"pipeline settings">,
  connection: Connection,
  output: Output,
): Promise<UpdatePipelineSettingsInput> {
  if (flags["reuse-listings"] && flags["list-anew"])
    throw usageError("--reuse-listings and --list-anew cannot be combined");
  const settings = {
    environment: text(flags["env-file"], flags.env),
    requirements: text(flags["req-file"], flags.req),
    credentials_names: list(flags["credentials-name"]),
    python_version: flags["python-version"],
    repository: flags.repository,
    workers: flags.workers,
    priority: flags.priority,
    reuse_listings: flags["reuse-listings"] || flags["list-anew"] ? flags["reuse-listings"] : undefined,
    ...retryRules(flags),
  };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  if (given.length === 0 && flags.files.length === 0)
    throw usageError("There is nothing to change: give at least one flag", {
      next: "millrace pipeline settings --help",
    });
  const files = list(flags.files);
  return {
    pipeline_name: NAME,
    ...(Object.fromEntries(given) as UpdatePipelineSettingsInput),
    ...(files === undefined ? {} : { files: await upload(connection, files, output) }),
  };
}

const text = (file: string | undefined, items: readonly string[]) =>
  file === undefined && items.length === 0 ? undefined : joinTexts(file, items);

/**
 * Returns the values of a list flag; undefined if the flag was not given. The flag without a value, as in `--files=`,
 * gives an empty list.
 */
const list = (items: readonly string[]) => (items.length === 0 ? undefined : items.filter((item) => item !== ""));

async function upload(connection: Connection, files: readonly string[], output: Output): Promise<string[]> {
  const { uploadFiles } = await import("../job/upload.ts");
  return files.length === 0 ? [] : uploadFiles(connection, files, output);
}
