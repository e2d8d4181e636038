/** Copies, moves and removes files of fsspec's file systems. */
import type { CallOptions } from "../../backend.ts";
import { checkPath } from "./list.ts";
import type { Place } from "./place.ts";

export async function copyFile(place: Place, from: string, to: string, call: CallOptions): Promise<void> {
  checkPath(place, to);
  await place.ask({ action: "copy", key: to, members: { from: place.relative(from) } }, call);
}

export async function moveFile(place: Place, from: string, to: string, call: CallOptions): Promise<void> {
  checkPath(place, to);
  await place.ask({ action: "move", key: to, members: { from: place.relative(from) } }, call);
}

export async function removeFile(place: Place, key: string, call: CallOptions): Promise<void> {
  if (place.relative(key) !== "") checkPath(place, key);
  await place.ask({ action: "remove", key }, call);
}

export async function removeTree(place: Place, key: string, call: CallOptions): Promise<void> {
  await place.ask({ action: "remove_tree", key }, call);
}
