/** What `hf://` takes. */
import type { ParameterTable } from "../../parameters.ts";

export const parameters = {
  token: {
    type: ["string", "boolean"],
    default: null,
    effect: "native",
    secret: true,
    sources: ["token", "$HF_TOKEN", "$HUGGING_FACE_HUB_TOKEN"],
    help: "Access token; unset: the saved one, false: none, true: the saved one, which must be there.",
  },
  endpoint: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["endpoint", "$HF_ENDPOINT"],
    help: "Address of the hub.",
  },
} as const satisfies ParameterTable;
