/** The interface of a runtime: how scripts of one query type are started, and how their metadata and failures are read. */
import type { ScriptMetadata } from "./script-metadata.ts";

/**
 * Placeholder in a command. The engine replaces it by the path of the Python in the job's virtualenv, or of the
 * machine's Python.
 */
export const jobPython = Symbol("the job's Python");

type Word = string | typeof jobPython;

export interface Runtime {
  /** Default file name of the script. */
  readonly filename: string;
  /** Whether the job always needs Python, even if it requests no packages and no Python version. */
  readonly needsPython: boolean;
  /** Returns the command that runs the script. The script is in the working directory. */
  command(filename: string, query: string): readonly Word[];
  /**
   * Command in front of a script from a repository. If empty, the script's `#!` line names the interpreter, and a script
   * without that line runs in a shell.
   */
  readonly interpreter: readonly Word[];
  /** Reads settings from the script itself. Each applies only if the job request does not contain that setting. */
  readMetadata(query: string): ScriptMetadata;
  /** The dataset library's numeric code for this query type. */
  readonly libraryKind: number;
  /** Whether the script may import the dataset library. `query` is undefined if the script is in a repository. */
  mayImportLibrary(query: string | undefined): boolean;
  /**
   * Returns how many log lines may follow a traceback for it to count as the exception that ended the script with this
   * exit code.
   */
  linesAfterException(exitCode: number): number;
}
