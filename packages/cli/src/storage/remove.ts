/** Removes a file, or a folder with its contents; asks before it removes a folder. */
import type { Storage } from "@millrace/storage";
import { usageError } from "../errors.ts";
import { sizeText } from "../job/view.ts";
import { measure } from "./copy.ts";
import { lookUpIfThere, notThere } from "./lookup.ts";
import type { Amount } from "./progress.ts";

export interface RemoveWishes {
  readonly recursive: boolean;
  readonly "dry-run": boolean;
  readonly yes: boolean;
}

/** Removes files and returns their number and total size. In a dry run, removes nothing and returns the same. */
export async function removeFiles(
  uri: string,
  storage: Storage,
  wishes: RemoveWishes,
  signal: AbortSignal,
): Promise<Amount> {
  const below = wishes.recursive ? await measure(storage, signal) : { files: 0, bytes: 0 };
  const itself = await lookUpIfThere({ uri, storage }, signal);
  if (!itself && below.files === 0) throw notThere(uri);
  if (itself?.type === "directory" && !wishes.recursive) {
    throw usageError(`${uri} is a folder, not a file`, { next: "Add --recursive to remove it with its contents" });
  }
  const file = itself?.type === "file" ? itself : undefined;
  const total = { files: below.files + (file ? 1 : 0), bytes: below.bytes + (file?.size ?? 0) };
  if (wishes["dry-run"]) return total;
  if (wishes.recursive && !wishes.yes) await confirm(uri, total, signal);
  if (file) await storage.remove("", { signal });
  if (wishes.recursive && !(file && below.files === 0)) await storage.remove("", { recursive: true, signal });
  return total;
}

async function confirm(uri: string, { files, bytes }: Amount, signal: AbortSignal): Promise<void> {
  const { askToProceed } = await import("../prompt.ts");
  await askToProceed(`${files} files (${sizeText(bytes)}) of ${uri} would be removed.`, {
    signal,
    hasDryRun: true,
  });
}
