/** `tar://path/in/archive::URI-of-the-archive`: files in an archive that any other storage holds, to read only. */
import type { OuterOpener } from "../../archive/outer.ts";
import { archiveScheme } from "../../archive/scheme.ts";
import { parameters } from "./parameters.ts";

export const tarScheme = (opener: OuterOpener) => archiveScheme("tar", parameters, opener, () => import("./open.ts"));
