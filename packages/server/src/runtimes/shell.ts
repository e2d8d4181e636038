/** The runtime for shell scripts. A script with a `#!` line is run directly, any other by `/bin/sh`. */
import { queryKinds } from "../datachain/statuses.ts";
import type { Runtime } from "./runtime.ts";

export const shell: Runtime = {
  canWait: false,
  filename: "query.sh",
  needsPython: false,
  command: (filename, query) => [...(query.startsWith("#!") ? [] : ["/bin/sh"]), `./${filename}`],
  interpreter: [],
  readMetadata: () => ({}),
  libraryKind: queryKinds.shell,
  mayImportLibrary: () => false,
  // A shell script has no traceback: the reason for a failure is the last line of its log.
  linesAfterException: () => 0,
};
