/** Scripts that name their interpreter, or else are run by `/bin/sh`. */
import { queryKinds } from "../datachain/statuses.ts";
import type { Runtime } from "./runtime.ts";

export const shell: Runtime = {
  filename: "query.sh",
  needsPython: false,
  command: (filename, query) => [...(query.startsWith("#!") ? [] : ["/bin/sh"]), `./${filename}`],
  interpreter: [],
  readMetadata: () => ({}),
  libraryKind: queryKinds.shell,
  mayImportLibrary: () => false,
  // What it ended for is the last that its log says.
  linesAfterException: () => 0,
};
