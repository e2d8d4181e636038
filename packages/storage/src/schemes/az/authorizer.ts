/** Authorizes a request: by a signature, a SAS token in the query, a bearer token, or not at all. */

import { type Renewable, renewing, soon } from "../../concurrency/renewing.ts";
import { StorageError } from "../../errors.ts";
import type { Account, Right, TokenCredential } from "./account.ts";
import { SharedKey, type Signable } from "./shared-key.ts";

export interface Authorizer {
  /** Returns the headers that authorize a request. All other parts of the request must be complete. */
  headers(request: Signable): Promise<Record<string, string>>;
  /** The SAS token, as encoded query parameters to add to every request; empty for other credentials. */
  readonly query: string;
  /** Discards the current token, after the store has refused it. Returns false if no new token can be requested. */
  renew(): boolean;
  /** The account key, if there is one. Only an account key can presign URLs. */
  readonly key?: SharedKey;
}

const nothing: Authorizer = { headers: async () => ({}), query: "", renew: () => false };

export function authorizerOf({ name, right }: Account, session: object | null): Authorizer {
  if (right.kind === "key") {
    const key = new SharedKey(name, right.key);
    return { ...nothing, headers: async (request) => ({ authorization: key.authorization(request) }), key };
  }
  if (right.kind === "signature") return { ...nothing, query: right.token };
  if (right.kind === "anonymous") return nothing;
  return byToken(renewing(() => fetchToken(right, session)));
}

interface Token {
  readonly token: string;
  readonly expiration: Date;
}

const byToken = (tokens: Renewable<Token>): Authorizer => ({
  headers: async () => ({ authorization: `Bearer ${(await tokens.get()).token}` }),
  query: "",
  renew: () => tokens.renew(),
});

const scope = "https://storage.azure.com/.default";

type TokenRight = Exclude<Right, { kind: "key" | "signature" | "anonymous" }>;

async function fetchToken(right: TokenRight, session: object | null): Promise<Token> {
  try {
    const credential = right.kind === "credential" ? right.credential : await createCredential(right, session);
    const answer = await credential.getToken(scope);
    if (!answer) throw new Error("the credential returned no token");
    const { token, expiresOnTimestamp } = answer;
    return { token, expiration: expiresOnTimestamp === undefined ? soon() : new Date(expiresOnTimestamp) };
  } catch (error) {
    const message = `cannot get credentials for az:// (${(error as Error).message}); set account_key, sas_token or another credential, or set anon to true for a public container`;
    throw new StorageError("permission", message, { scheme: "az", cause: error });
  }
}

/**
 * Creates a credential with the package `@azure/identity`, which is loaded at the first use. Each call creates a new
 * credential, because a credential may cache a failure.
 */
async function createCredential(
  right: Exclude<TokenRight, { kind: "credential" }>,
  session: object | null,
): Promise<TokenCredential> {
  const { ClientSecretCredential, DefaultAzureCredential } = await import("@azure/identity");
  const options = session === null ? {} : { httpClient: session as never };
  if (right.kind === "default") return new DefaultAzureCredential(options);
  return new ClientSecretCredential(right.tenant, right.client, right.secret, options);
}
