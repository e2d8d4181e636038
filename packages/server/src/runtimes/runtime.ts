/**
 * The interface of a runtime. Each query type, such as Python, has a runtime, which knows how to start its scripts and
 * how to read their metadata and failures.
 */
import type { ScriptMetadata } from "./script-metadata.ts";

/**
 * Placeholder in a command. The engine replaces it by the path of the virtualenv's Python or, if the job has no
 * virtualenv, of the machine's Python.
 */
export const jobPython = Symbol("the job's Python");

type Word = string | typeof jobPython;

export interface Runtime {
  /** Whether an interpreter of this runtime can import the dataset library before its script is known. */
  readonly canWait: boolean;
  /** Default file name of the script. */
  readonly filename: string;
  /** Whether the job always needs Python, even if it requests no packages and no Python version. */
  readonly needsPython: boolean;
  /** Returns the command that runs the script. `filename` is the script's name in the working directory. */
  command(filename: string, query: string): readonly Word[];
  /**
   * Command that runs a script from a repository; the path of the script follows it. If empty, the script's `#!` line
   * names the interpreter. A script without that line runs in a shell.
   */
  readonly interpreter: readonly Word[];
  /** Reads settings from the script itself. A setting applies only if the job request does not contain it. */
  readMetadata(query: string): ScriptMetadata;
  /** The dataset library's numeric code for this query type. */
  readonly libraryKind: number;
  /** Whether the script may import the dataset library. `query` is undefined if the script is in a repository. */
  mayImportLibrary(query: string | undefined): boolean;
  /**
   * Returns the maximum number of log lines after a traceback. If at most this many lines follow the traceback, it
   * counts as the exception that ended the script with this exit code.
   */
  linesAfterException(exitCode: number): number;
}
