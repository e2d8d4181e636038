/** Millrace's scripts that run inside a job's phases, the same on every engine. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const insideScripts = [
  "repository.sh",
  "repository-script.sh",
  "files.sh",
  "stage.py",
  "build.sh",
  "pip-settings.py",
] as const;
export type InsideScript = (typeof insideScripts)[number];

/** Reads the texts of all scripts, by name. */
export async function readInsideScripts(): Promise<ReadonlyMap<InsideScript, string>> {
  const texts = insideScripts.map(
    async (name) => [name, await readFile(join(import.meta.dirname, name), "utf8")] as const,
  );
  return new Map(await Promise.all(texts));
}
