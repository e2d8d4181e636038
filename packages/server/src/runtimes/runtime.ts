/** What a job of one query type needs, and what may be known of its script and of its end. */
import type { ScriptMetadata } from "./script-metadata.ts";

/** Stands in a command for the job's Python: that of its environment, or of the machine. Each engine knows where it lies. */
export const jobPython = Symbol("the job's Python");

type Word = string | typeof jobPython;

export interface Runtime {
  /** The name of the script's file where the job has none. */
  readonly filename: string;
  /** Whether the job cannot start without Python, even where it asks for no packages and no version. */
  readonly needsPython: boolean;
  /** The command that runs the script, which lies in the working directory. */
  command(filename: string, query: string): readonly Word[];
  /** What runs a script of a repository; no words: what the script's first line names, or a shell. */
  readonly interpreter: readonly Word[];
  /** What the script says of itself, where a request leaves it open. */
  readMetadata(query: string): ScriptMetadata;
  /** The library's number for queries of this kind. */
  readonly libraryKind: number;
  /** Whether the script may import the dataset library. Undefined: the script is in a repository, and not known yet. */
  mayImportLibrary(query: string | undefined): boolean;
  /** How many lines may follow the traceback of the exception that ended the script with this exit code. */
  linesAfterException(exitCode: number): number;
}
