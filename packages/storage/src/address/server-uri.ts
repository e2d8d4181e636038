/**
 * URIs of the shape `scheme://[user[:password]@]host[:port]/path`. The path starts at the server's root and is not
 * decoded.
 */
import { StorageError } from "../errors.ts";
import { afterScheme, type Location, schemeOf } from "./uri.ts";

export interface ServerAddress {
  readonly host: string;
  readonly port: number | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const pattern = /^(?:([^/@:]*)(?::([^/@]*))?@)?(\[[^\]/]+\]|[^/:@]+)(?::(\d+))?(?:\/(.*))?$/s;

/** Parses the URI. The bucket is host and port, without user and password, because error messages show the bucket. */
export function parseServerUri(uri: string): Location {
  const [, , , host, port, path = ""] = match(uri);
  return { uri, scheme: schemeOf(uri), bucket: port ? `${host}:${port}` : `${host}`, path: path.replace(/^\/+/, "") };
}

/** Returns the host and the login. In a user name or password, `@`, `:` and `/` must be percent-encoded in the URI. */
export function addressOf({ uri }: Location): ServerAddress {
  const [, username, password, host = "", port] = match(uri);
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port: port === undefined ? undefined : Number(port),
    username: username ? decodeURIComponent(username) : undefined,
    password: password === undefined ? undefined : decodeURIComponent(password),
  };
}

function match(uri: string): RegExpExecArray {
  const found = pattern.exec(afterScheme(uri));
  if (found) return found;
  const scheme = schemeOf(uri);
  throw new StorageError("config", `the URI is invalid: expected ${scheme}://[user[:password]@]host[:port]/path`, {
    scheme,
  });
}
