/**
 * Plug-ins of the library that jobs get. The library asks every installed package for plug-ins; a folder on Python's path
 * that says it is one is enough.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { libraryName } from "../library.ts";

/** A folder of its own among the job's input: a module beside the others would hide one that a script means to import. */
export const plugInFolder = "library";

/** The plug-in that also makes the team's warehouse ready, as a program. */
export const readyProgram = `${plugInFolder}/millrace_datasets.py`;

/** Before what the job or the operator put on Python's path. */
export const pathWithPlugIns = (folder: string, given: string | undefined) => ({
  PYTHONPATH: [folder, ...(given ? [given] : [])].join(":"),
});

type Files = Readonly<Record<string, string>>;

export class PlugIns {
  readonly #datasets: string;
  readonly #listings: string;

  static async read(): Promise<PlugIns> {
    const text = (name: string) => readFile(join(import.meta.dirname, name), "utf8");
    return new PlugIns(await text("datasets.py"), await text("listings.py"));
  }

  private constructor(datasets: string, listings: string) {
    this.#datasets = datasets;
    this.#listings = listings;
  }

  /** Files by their path below the job's input. A run of a pipeline also gets the plug-in that makes listings anew. */
  files(record: string, listings: boolean): Files {
    return {
      ...packaged("datasets", "millrace", this.#datasets),
      [`${plugInFolder}/datasets.json`]: record,
      ...(listings ? packaged("listings", "listings", this.#listings) : {}),
    };
  }
}

function packaged(name: string, entry: string, module: string): Files {
  const described = `${plugInFolder}/millrace_${name}-1.dist-info`;
  return {
    [`${plugInFolder}/millrace_${name}.py`]: module,
    [`${described}/METADATA`]: `Metadata-Version: 2.1\nName: millrace-${name}\nVersion: 1\n`,
    [`${described}/entry_points.txt`]: `[${libraryName}.callables]\n${entry} = millrace_${name}:register\n`,
  };
}
