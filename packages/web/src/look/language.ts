/** Languages of scripts, as people name them. */
import type { QueryType } from "@millrace/contract";

export const languages: Readonly<Record<QueryType, string>> = {
  PYTHON: "Python",
  SHELL: "Shell",
  TYPESCRIPT: "TypeScript",
};
