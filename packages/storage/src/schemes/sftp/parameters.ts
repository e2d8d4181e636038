/** Parameters of `sftp://`. The names are our own; where fsspec has the same name, the meaning is the same. */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "User name; if unset, the URI's, else that of this process.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password; if unset, the URI's.",
  },
  pkey: { type: "string", default: null, effect: "native", secret: true, help: "Private key, as text." },
  key_filename: { type: "string", default: null, effect: "native", help: "File with a private key." },
  passphrase: { type: "string", default: null, effect: "native", secret: true, help: "Passphrase of the private key." },
  allow_agent: {
    type: "boolean",
    default: true,
    effect: "native",
    help: "Use the agent at SSH_AUTH_SOCK if neither password nor key is given.",
  },
  look_for_keys: {
    type: "boolean",
    default: true,
    effect: "native",
    help: "Try the keys in ~/.ssh that have no passphrase, if nothing else is given.",
  },
  host_key: {
    type: "string",
    default: null,
    effect: "native",
    help: "The only host key to accept: SHA256:… or as in known_hosts.",
  },
  known_hosts: {
    type: "string",
    default: null,
    effect: "native",
    help: "File of known hosts; if unset, ~/.ssh/known_hosts. It is never changed.",
  },
  host_key_policy: {
    type: "string",
    default: "strict",
    choices: ["strict", "accept-new", "off"],
    effect: "native",
    help:
      "strict: the host must be known. accept-new: accepts an unknown host, but not a known host with another key. " +
      "off: accepts any key, so that a man in the middle can read everything.",
  },
  timeout: {
    type: "number",
    default: 20,
    effect: "native",
    help: "Timeout in seconds for the connection and the login.",
  },
} as const satisfies ParameterTable;
