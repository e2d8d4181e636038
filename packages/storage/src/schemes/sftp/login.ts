/** Determines how a connection authenticates, and which host keys it accepts. */
import { readFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import type { ConnectConfig } from "ssh2";
import { addressOf, type ServerAddress } from "../../address/server-uri.ts";
import type { Location } from "../../address/uri.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { StorageError } from "../../errors.ts";
import { isHostKey, knownHosts } from "./known-hosts.ts";
import type { parameters } from "./parameters.ts";

type SftpConfiguration = Configuration<typeof parameters>;

export function connectionOf(location: Location, configuration: SftpConfiguration): ConnectConfig {
  const { values } = configuration;
  const address = addressOf(location);
  const port = address.port ?? 22;
  return {
    host: address.host,
    port,
    username: values.username ?? address.username ?? userInfo().username,
    readyTimeout: values.timeout * 1000,
    keepaliveInterval: 15_000,
    ...credentialsOf(configuration, address),
    ...hostCheck(configuration, address.host, port),
  };
}

const homeOf = ({ environment }: SftpConfiguration) => environment["HOME"] ?? homedir();

/**
 * Returns the credentials to offer: the given key, the given password, or both. If neither is given, returns the agent.
 * If there is no agent, returns a key in `~/.ssh`.
 */
function credentialsOf(configuration: SftpConfiguration, address: ServerAddress): ConnectConfig {
  const { values, environment } = configuration;
  const password = values.password ?? address.password;
  const file = values.key_filename;
  const privateKey = values.pkey ?? (file === null ? undefined : readKey(file, homeOf(configuration)));
  const passphrase = values.passphrase === null ? {} : { passphrase: values.passphrase };
  if (privateKey !== undefined) return { privateKey, ...passphrase, ...(password === undefined ? {} : { password }) };
  if (password !== undefined) return { password, tryKeyboard: false };
  const agent = values.allow_agent ? environment["SSH_AUTH_SOCK"] : undefined;
  if (agent) return { agent };
  const own = values.look_for_keys ? findOwnKey(homeOf(configuration)) : undefined;
  return own === undefined ? {} : { privateKey: own, ...passphrase };
}

function readKey(file: string, home: string): Buffer {
  try {
    return readFileSync(file.replace(/^~(?=\/)/, home));
  } catch (error) {
    throw new StorageError("config", `key_filename: ${(error as Error).message}`, { scheme: "sftp", cause: error });
  }
}

function findOwnKey(home: string): Buffer | undefined {
  for (const name of ["id_ed25519", "id_ecdsa", "id_rsa"]) {
    try {
      return readFileSync(join(home, ".ssh", name));
    } catch {
      // Tries the next key file.
    }
  }
  return undefined;
}

/**
 * Returns the options that check the host's key. If keys of the host are known, only their types are requested, because
 * the host might otherwise present a key of another type, which could not be compared.
 */
function hostCheck(configuration: SftpConfiguration, host: string, port: number): ConnectConfig {
  const { host_key, host_key_policy, known_hosts } = configuration.values;
  if (host_key !== null) return { hostVerifier: (key: Buffer) => isHostKey(host_key, key) };
  if (host_key_policy === "off") return { hostVerifier: () => true };
  const known = knownHosts(readHosts(known_hosts, homeOf(configuration)), host, port);
  const accepted = host_key_policy === "strict" ? ["known"] : ["known", "unknown"];
  const algorithms = known.types.flatMap(algorithmsOf);
  return {
    hostVerifier: (key: Buffer) => accepted.includes(known.check(key)),
    ...(algorithms.length > 0 ? { algorithms: { serverHostKey: algorithms } as ConnectConfig["algorithms"] } : {}),
  } as ConnectConfig;
}

const algorithmsOf = (type: string) => (type === "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256"] : [type]);

function readHosts(file: string | null, home: string): string {
  try {
    return readFileSync(file === null ? join(home, ".ssh/known_hosts") : file.replace(/^~(?=\/)/, home), "utf8");
  } catch (error) {
    if (file === null) return "";
    throw new StorageError("config", `known_hosts: ${(error as Error).message}`, { scheme: "sftp", cause: error });
  }
}
