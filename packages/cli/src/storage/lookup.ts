/** Looks up the file or folder that a URI names. If there is none, the error says what to do. */
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
 * Returns the entry that a URI names; undefined if there is none. If the bucket itself does not exist, throws the
 * library's error, which names the bucket.
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
 * Returns the error to show for a failed read. If the path is a folder, the error says so. This is called only after a
 * failure, so that a successful read needs no extra request.
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
