/** `memory://` takes no parameters. */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {} as const satisfies ParameterTable;
