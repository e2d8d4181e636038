/** The version of this package. The file lies at the top, as a bundle does: the way to package.json is the same from both. */
import { readFileSync } from "node:fs";

export const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
