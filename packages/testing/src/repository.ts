import { join } from "node:path";

/** The root folder of the repository. */
export const repository = join(import.meta.dirname, "../../..");
