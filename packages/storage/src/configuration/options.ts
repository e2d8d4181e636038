/** Table rows for options of the Python libraries that have no effect here or are rejected, each with the reason. */
import type { ParameterType } from "./parameters.ts";

/** Returns the table row of an option that is accepted but has no effect. */
export const idle = <const T extends ParameterType>(type: T | readonly T[], reason: string, help: string) =>
  ({ type, default: null, effect: "no-op", reason, help }) as const;

/** Returns the table row of a dict whose members have rows of their own. */
export const dict = (help: string) => ({ type: "dict", default: {}, effect: "native", help }) as const;

/** Returns the table row of an option that is rejected. */
export const refused = (reason: string, help: string) =>
  ({ type: "object", default: null, effect: "rejected", reason, help }) as const;

/** Returns the table row of an option that is rejected because only a Python program can supply its value. */
export const ofPython = (help: string) =>
  refused("its value would be a Python object, which only a Python program can create", help);
