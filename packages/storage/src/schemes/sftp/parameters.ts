/** Parameters of `sftp://`. The names are our own; where fsspec has the same name, the meaning is the same. */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "Name to log in with; unset: that of the URI, else of this process.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password; unset: that of the URI, if it has one.",
  },
  pkey: { type: "string", default: null, effect: "native", secret: true, help: "Private key, as text." },
  key_filename: { type: "string", default: null, effect: "native", help: "File with a private key." },
  passphrase: { type: "string", default: null, effect: "native", secret: true, help: "What the private key needs." },
  allow_agent: {
    type: "boolean",
    default: true,
    effect: "native",
    help: "Ask the agent at SSH_AUTH_SOCK, when neither password nor key is given.",
  },
  look_for_keys: {
    type: "boolean",
    default: true,
    effect: "native",
    help: "Try the keys of ~/.ssh without a passphrase, when nothing else is given.",
  },
  host_key: {
    type: "string",
    default: null,
    effect: "native",
    help: "The only key of the host that is accepted: SHA256:… or as in known_hosts.",
  },
  known_hosts: {
    type: "string",
    default: null,
    effect: "native",
    help: "File of hosts that are known; unset: ~/.ssh/known_hosts. It is never written to.",
  },
  host_key_policy: {
    type: "string",
    default: "strict",
    choices: ["strict", "accept-new", "off"],
    effect: "native",
    help:
      "strict: the host must be known. accept-new: an unknown one is accepted, a known one with another key is not. " +
      "off: any is accepted, so that anybody in between can read along.",
  },
  timeout: { type: "number", default: 20, effect: "native", help: "Seconds to wait for a connection and the login." },
} as const satisfies ParameterTable;
