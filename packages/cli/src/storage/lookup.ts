/** Looks up the file or folder that a URI names, and explains what to do if there is none. */
import type { Entry, Storage } from "@millrace/storage";
import { CliError, usageError } from "../errors.ts";
import { folderAbove, isPattern } from "./uri.ts";

/** A storage, and its URI as the user typed it. */
export interface Place {
  readonly uri: string;
  readonly storage: Storage;
}

export async function lookUp(place: Place, signal: AbortSignal): Promise<Entry> {
  const entry = await lookUpIfThere(place, signal);
  if (entry) return entry;
  throw notThere(place.uri);
}

/**
 * Returns the entry that a URI names; undefined if there is none. Throws if the bucket does not exist, so
 * that the error names the bucket.
 */
export async function lookUpIfThere({ storage }: Place, signal: AbortSignal): Promise<Entry | undefined> {
  const { isStorageError } = await import("@millrace/storage");
  try {
    return await storage.stat("", { signal });
  } catch (error) {
    const isBucket = isStorageError(error) && error.bucket && !error.key;
    if (isStorageError(error, "not_found") && !isBucket) return undefined;
    throw error;
  }
}

/**
 * Returns the error to show for a failed read: if the path is a folder, the error says so. Only failed reads are
 * checked for this, so a successful read needs no extra request.
 */
export async function explainUnread(place: Place, signal: AbortSignal, error: unknown): Promise<unknown> {
  const { isStorageError } = await import("@millrace/storage");
  if (!isStorageError(error, "not_found")) return error;
  const entry = await lookUpIfThere(place, signal);
  if (entry?.type !== "directory") return notThere(place.uri);
  return usageError(`${place.uri} is a folder, not a file`, {
    next: `Name a file in this folder; to list its files: millrace storage ls ${place.uri}`,
  });
}

export function notThere(uri: string): CliError {
  const what = `${uri}: no such file or folder`;
  if (isPattern(uri)) {
    return usageError(what, {
      why: "Only millrace storage ls takes patterns",
      next: `Name one file or folder; millrace storage ls '${uri}' shows the matches`,
    });
  }
  const above = folderAbove(uri);
  return new CliError(what, { next: above && `List the folder: millrace storage ls ${above}` });
}
