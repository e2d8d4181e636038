/** Parameters of `sftp://`. The names are our own; where fsspec has the same name, the meaning is the same. */
import type { ParameterTable } from "../../configuration/parameters.ts";

export const parameters = {
  username: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["username", "user"],
    help: "User name; if unset, the user in the URI, or the user of this process if the URI has none.",
  },
  password: {
    type: "string",
    default: null,
    effect: "native",
    secret: true,
    help: "Password; if unset, the password in the URI.",
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
    help: "If there are no other credentials, use the first of id_ed25519, id_ecdsa and id_rsa that exists in ~/.ssh.",
  },
  host_key: {
    type: "string",
    default: null,
    effect: "native",
    help: "The only host key to accept: its fingerprint (SHA256:…), or the key as in known_hosts.",
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
