/**
 * The version of this package. This file is at the top level, like the bundled program, so that the relative path to
 * package.json is the same for both.
 */
import { readFileSync } from "node:fs";

export const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
