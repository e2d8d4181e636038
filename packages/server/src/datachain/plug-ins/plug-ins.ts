/**
 * The plug-ins for the datachain library that are added to each job. The library loads plug-ins of every installed
 * package. A folder on PYTHONPATH that contains a `.dist-info` folder counts as installed.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { libraryName } from "../library.ts";

/**
 * Subfolder of the job's input folder for the plug-ins. It contains nothing else, so that no plug-in hides a module of
 * the job.
 */
export const plugInFolder = "library";

/** Path of a plug-in that is also a program: before the query, it prepares the team's warehouse. */
export const readyProgram = `${plugInFolder}/millrace_datasets.py`;

/** Path of the file that Python runs before the script of a waiting interpreter. The job must not find it. */
export const waitingFile = `${plugInFolder}/sitecustomize.py`;

/** Returns PYTHONPATH with the plug-in folder in front of the value that the job or the operator set. */
export const pathWithPlugIns = (folder: string, given: string | undefined) => ({
  PYTHONPATH: [folder, ...(given ? [given] : [])].join(":"),
});

type Files = Readonly<Record<string, string>>;

export class PlugIns {
  readonly #datasets: string;
  readonly #listings: string;
  readonly #waiting: string;

  static async read(): Promise<PlugIns> {
    const text = (name: string) => readFile(join(import.meta.dirname, name), "utf8");
    return new PlugIns(await text("datasets.py"), await text("listings.py"), await text("waiting.py"));
  }

  private constructor(datasets: string, listings: string, waiting: string) {
    this.#datasets = datasets;
    this.#listings = listings;
    this.#waiting = waiting;
  }

  /** Returns the file with which an interpreter imports the library and waits for a job. */
  waiting(): Files {
    return { [waitingFile]: this.#waiting };
  }

  /**
   * Returns the texts of a job's plug-in files, by path in the job's input folder. `listings` adds the plug-in that
   * refreshes storage listings.
   */
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
