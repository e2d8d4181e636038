/**
 * The runtime for Python scripts. A script runs with the Python of the job's virtualenv or, if the job has none, with
 * the machine's Python.
 */
import { importsLibrary } from "../datachain/requirements.ts";
import { queryKinds } from "../datachain/statuses.ts";
import { jobPython, type Runtime } from "./runtime.ts";
import { readScriptMetadata } from "./script-metadata.ts";

export const python: Runtime = {
  canWait: true,
  filename: "query.py",
  needsPython: true,
  command: (filename) => [jobPython, filename],
  interpreter: [jobPython],
  readMetadata: readScriptMetadata,
  libraryKind: queryKinds.python,
  mayImportLibrary: (query) => query === undefined || importsLibrary(query),
  // Python exits with code 1 after an uncaught exception. Exit handlers may still print lines after the traceback.
  linesAfterException: (exitCode) => (exitCode === 1 ? 30 : 0),
};
