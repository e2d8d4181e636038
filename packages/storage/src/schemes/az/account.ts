/**
 * Determines the account and the credential from the parameters of `az://`. If several credentials are given, the first
 * of this list is used: `connection_string`, `credential`, `account_key`, `sas_token`, a service principal.
 */
import { afterScheme, type Location } from "../../address/uri.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { StorageError } from "../../errors.ts";
import { parseConnectionString } from "./connection-string.ts";
import type { parameters } from "./parameters.ts";

/** A credential of the package `@azure/identity`, or another object with its method `getToken`. */
export interface TokenCredential {
  getToken(scope: string): Promise<{ readonly token: string; readonly expiresOnTimestamp?: number } | null>;
}

export type Right =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "signature"; readonly token: string }
  | { readonly kind: "credential"; readonly credential: TokenCredential }
  | { readonly kind: "principal"; readonly client: string; readonly secret: string; readonly tenant: string }
  | { readonly kind: "default" }
  | { readonly kind: "anonymous" };

export interface Account {
  /** Name of the account. Empty if only the URL is given; anonymous access and SAS tokens do not need the name. */
  readonly name: string;
  /** URL of the account, without a trailing slash. */
  readonly url: string;
  readonly right: Right;
}

const refuse = (message: string) => new StorageError("config", message, { scheme: "az" });

export function accountOf(configuration: Configuration<typeof parameters>, location: Location): Account {
  const { values } = configuration;
  if (values.connection_string !== null) {
    const { signature, key, ...account } = parseConnectionString(values.connection_string);
    return { ...account, right: keyRight(key) ?? signatureRight(signature) ?? { kind: "anonymous" } };
  }
  const name = values.account_name ?? accountOfUri(location.uri);
  const right = rightOf(configuration);
  if (values.account_host !== null) {
    if (name === undefined && right.kind !== "anonymous")
      throw refuse("account_name is missing: it is required with account_host, unless anon is set");
    const [host = "", signature] = values.account_host.split("?");
    // A credential in the parameters wins over a SAS token in `account_host`.
    const isGiven = right.kind !== "anonymous" && right.kind !== "default";
    const own = isGiven ? undefined : signatureRight(signature);
    return { name: name ?? "", url: `https://${host.replace(/\/+$/, "")}`, right: own ?? right };
  }
  if (name === undefined) throw refuse("no storage account is given: set account_name or connection_string");
  return { name, url: `https://${name}.blob.core.windows.net`, right };
}

/**
 * Returns the account name in a URI of the long form `abfs://container@account.host/path`; undefined for other URIs.
 */
function accountOfUri(uri: string): string | undefined {
  return /^[^/@]+@([^/.]+)\./.exec(afterScheme(uri))?.[1];
}

function rightOf({ values }: Configuration<typeof parameters>): Right {
  const { credential, account_key, sas_token, anon } = values;
  return (
    credentialRight(credential) ??
    keyRight(account_key) ??
    signatureRight(sas_token) ??
    principalRight(values) ?? { kind: anon === true ? "anonymous" : "default" }
  );
}

function credentialRight(credential: string | object | null): Right | undefined {
  if (credential === null) return undefined;
  if (typeof credential === "string")
    return credential.includes("sig=") ? signatureRight(credential) : keyRight(credential);
  if ("getToken" in credential) return { kind: "credential", credential: credential as TokenCredential };
  throw refuse("credential: expected an object with a getToken method, a SAS token or an account key");
}

const keyRight = (key: string | null | undefined): Right | undefined => (key ? { kind: "key", key } : undefined);

const signatureRight = (token: string | null | undefined): Right | undefined =>
  token ? { kind: "signature", token: token.replace(/^\?/, "") } : undefined;

function principalRight(values: Configuration<typeof parameters>["values"]): Right | undefined {
  const { client_id: client, client_secret: secret, tenant_id: tenant } = values;
  if (client === null && secret === null && tenant === null) return undefined;
  if (client !== null && secret !== null && tenant !== null) return { kind: "principal", client, secret, tenant };
  const missing = Object.entries({ client_id: client, client_secret: secret, tenant_id: tenant });
  throw refuse(
    `${missing.find(([, value]) => value === null)?.[0]} is missing: a service principal needs client_id, client_secret and tenant_id`,
  );
}
