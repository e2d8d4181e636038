/** Scripts in Python, run by the interpreter of their environment. */
import { importsLibrary } from "../datachain/requirements.ts";
import { queryKinds } from "../datachain/statuses.ts";
import { jobPython, type Runtime } from "./runtime.ts";
import { readScriptMetadata } from "./script-metadata.ts";

export const python: Runtime = {
  filename: "query.py",
  needsPython: true,
  command: (filename) => [jobPython, filename],
  interpreter: [jobPython],
  readMetadata: readScriptMetadata,
  libraryKind: queryKinds.python,
  mayImportLibrary: (query) => query === undefined || importsLibrary(query),
  // Python ends with 1 after an exception, and handlers of its exit may say something then.
  linesAfterException: (exitCode) => (exitCode === 1 ? 30 : 0),
};
