/** `tar://path/in/archive::URI-of-the-archive`: read-only access to files in an archive in any other storage. */
import type { OuterOpener } from "../../archive/outer.ts";
import { archiveScheme } from "../../archive/scheme.ts";
import { parameters } from "./parameters.ts";

export const tarScheme = (opener: OuterOpener) => archiveScheme("tar", parameters, opener, () => import("./open.ts"));
