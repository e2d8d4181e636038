/** What `file://` takes: nothing. */
import type { ParameterTable } from "../../parameters.ts";

export const parameters = {} as const satisfies ParameterTable;
