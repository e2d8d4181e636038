/** Listings of storages in runs of pipelines: made anew, and told of in the log. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatasetAccess } from "../../engine.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import { pluginFolder } from "./library.ts";

export const readListings = () => readFile(join(import.meta.dirname, "listings.py"), "utf8");

/** Which listings the plug-in lets the library use. */
export const listingVariables = ({ listingsSince: since }: DatasetAccess): Record<string, string> =>
  since === undefined ? {} : { MILLRACE_LISTINGS_SINCE: since ?? "any" };

/** A plug-in of the library beside the one that all jobs have. */
export function writeListings(folder: AttemptFolder, uid: number | undefined, module: string): void {
  const described = `${pluginFolder}/millrace_listings-1.dist-info`;
  folder.makeInput(described, uid);
  const files = {
    [`${pluginFolder}/millrace_listings.py`]: module,
    [`${described}/METADATA`]: "Metadata-Version: 2.1\nName: millrace-listings\nVersion: 1\n",
    [`${described}/entry_points.txt`]: "[datachain.callables]\nlistings = millrace_listings:register\n",
  };
  for (const [name, text] of Object.entries(files)) folder.writeInput(name, text, uid);
}
