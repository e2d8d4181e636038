/** Gets credentials from the parameters or from AWS's standard provider chain, and renews them before they expire. */

import { lasting, type Renewable, renewing, soon } from "../../concurrency/renewing.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { StorageError } from "../../errors.ts";
import type { parameters } from "./parameters.ts";
import { placesWithout } from "./shared-config.ts";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export type CredentialSource = Renewable<Credentials>;

/** Credentials that a function given as `token` may return, instead of a plain token. */
interface GivenCredentials {
  readonly key?: string;
  readonly secret?: string;
  readonly token?: string;
  readonly expires_at?: Date | string;
}

type TokenFunction = () => Promise<string | GivenCredentials> | string | GivenCredentials;

/** Returns the source of credentials, or undefined if requests are not signed (`anon`). */
export function credentialSource(configuration: Configuration<typeof parameters>): CredentialSource | undefined {
  const { anon, session, key, secret, token } = configuration.values;
  if (anon) return undefined;
  if (session !== null) return renewing(fromSession(session));
  if (typeof token === "function") return renewing(fromFunction(token as TokenFunction, key, secret));
  if (key !== null && secret !== null && !prefersProfile(configuration)) {
    const given = { accessKeyId: key, secretAccessKey: secret, ...(token === null ? {} : { sessionToken: token }) };
    return lasting(given);
  }
  return renewing(fromResolver(configuration));
}

/**
 * Whether to use the profile although there are keys. As in AWS's own tools, a profile in client_config wins over keys
 * in environment variables.
 */
function prefersProfile(configuration: Configuration<typeof parameters>): boolean {
  return (
    configuration.sourceOf("kwargs.profile").startsWith("client_config") &&
    configuration.sourceOf("key").startsWith("environment")
  );
}

function fromSession(session: object): () => Promise<Credentials> {
  if (typeof session === "function") return session as () => Promise<Credentials>;
  const { credentials } = (session as { config: { credentials?: unknown } }).config;
  if (typeof credentials === "function") return credentials as () => Promise<Credentials>;
  throw new StorageError(
    "config",
    "session: the S3 client has no credentials; create it with credentials, or pass a function that returns them",
    { scheme: "s3" },
  );
}

function fromFunction(token: TokenFunction, key: string | null, secret: string | null): () => Promise<Credentials> {
  return async () => {
    const answer = await token();
    const given: GivenCredentials = typeof answer === "string" ? { token: answer } : answer;
    const accessKeyId = given.key ?? key;
    const secretAccessKey = given.secret ?? secret;
    if (accessKeyId === null || secretAccessKey === null) {
      throw new StorageError(
        "config",
        "token: key or secret is missing, because neither the function nor the parameter of that name supplies it; return both from the function, or set both parameters",
        {
          scheme: "s3",
        },
      );
    }
    return {
      accessKeyId,
      secretAccessKey,
      ...(given.token === undefined ? {} : { sessionToken: given.token }),
      // The expiry of a plain token is unknown, so the function is called again after a minute.
      expiration: given.expires_at === undefined ? soon() : new Date(given.expires_at),
    };
  };
}

function fromResolver(configuration: Configuration<typeof parameters>): () => Promise<Credentials> {
  const profile = configuration.values["kwargs.profile"];
  return async () => {
    // The package is imported only here, because most callers give their keys and never need it.
    const { fromNodeProviderChain } = await import("@aws-sdk/credential-providers");
    try {
      return await fromNodeProviderChain(profile === null ? {} : { profile })();
    } catch (error) {
      await refuseMissing(profile, configuration, error);
      const message = `cannot get credentials for s3:// (${(error as Error).message}); set key and secret, or set anon to true for a public bucket`;
      throw new StorageError("permission", message, { scheme: "s3", cause: error });
    }
  };
}

/**
 * Throws an error that names the profile, if the profile does not exist. The provider chain only says that it found no
 * credentials.
 */
async function refuseMissing(
  profile: string | null,
  { environment, sourceOf }: Configuration<typeof parameters>,
  cause: unknown,
): Promise<void> {
  const places = profile === null ? undefined : await placesWithout(profile, environment);
  if (places === undefined) return;
  const message = `profile: ${JSON.stringify(profile)} (set by ${sourceOf("kwargs.profile")}) does not exist in ${places}`;
  throw new StorageError("config", message, {
    scheme: "s3",
    cause,
  });
}
