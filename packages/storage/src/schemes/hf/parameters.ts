/** Parameters of `hf://`. */
import type { ParameterTable } from "../../configuration/parameters.ts";
import { implicitToken } from "./token.ts";

export const parameters = {
  token: {
    type: ["string", "boolean"],
    default: null,
    effect: "native",
    secret: true,
    elsewhere: implicitToken,
    help:
      "Access token; false: none; true: the saved token, which must exist; unset: the saved token, if there is one and " +
      "HF_HUB_DISABLE_IMPLICIT_TOKEN is not true. The saved token is in HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file that " +
      "HF_TOKEN_PATH names, or $HF_HOME/token.",
  },
  endpoint: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["endpoint", "$HF_ENDPOINT"],
    help: "Address of the hub; the public hub if unset.",
  },
} as const satisfies ParameterTable;
