/** Rows for options of the Python libraries that mean something else here, or nothing: said once, with the reason. */
import type { ParameterType } from "./parameters.ts";

/** Accepted; it changes nothing. */
export const idle = <const T extends ParameterType>(type: T | readonly T[], reason: string, help: string) =>
  ({ type, default: null, effect: "no-op", reason, help }) as const;

/** A dict within a dict, whose members are described. */
export const dict = (help: string) => ({ type: "dict", default: {}, effect: "native", help }) as const;

/** Refused by name. */
export const refused = (reason: string, help: string) =>
  ({ type: "object", default: null, effect: "rejected", reason, help }) as const;

/** Of what only a Python program can make. */
export const ofPython = (help: string) => refused("it is an object of Python, which no other program can make", help);
