/** Gets credentials from `token` or from Google's auth library, and renews them before they expire. */
import { createSign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import type { GoogleAuth } from "google-auth-library";
import { lasting, type Renewable, renewing, soon } from "../../concurrency/renewing.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { endpointOf, isEmulator } from "./endpoint.ts";
import type { parameters } from "./parameters.ts";

type GsConfiguration = Configuration<typeof parameters>;
type TokenDict = Readonly<Record<string, unknown>>;

export interface AccessToken {
  /** Access token. If it is absent, the request is sent without one. */
  readonly token?: string;
  readonly expiration?: Date | undefined;
}

/** The part of the interface of Google's auth clients that is used here. A caller may pass such a client as `token`. */
interface TokenClient {
  getAccessToken(): Promise<{ token?: string | null | undefined }>;
  readonly credentials?: { readonly expiry_date?: number | null };
}

/** Returns the source of access tokens, or undefined if requests are sent without credentials. */
export function tokenSource(configuration: GsConfiguration): Renewable<AccessToken> | undefined {
  const { token } = configuration.values;
  if (token === "anon") return undefined;
  if (token === null) return renewing(() => firstOf(configuration));
  if (token === "google_default") return renewing(() => fromAuth(() => createAuth(configuration)));
  if (token === "cloud") return renewing(() => fromMetadataServer(configuration));
  if (typeof token === "string") return fromText(configuration, token);
  return fromDict(configuration, token);
}

/**
 * Returns a token of the default credentials or of the metadata server. If neither has a token, requests are sent
 * without credentials, and both are tried again after a minute.
 */
async function firstOf(configuration: GsConfiguration): Promise<AccessToken> {
  if (isEmulator(endpointOf(configuration.values.endpoint_url)) && !hasDefaultFile()) return {};
  return fromAuth(() => createAuth(configuration)).catch(() => ({ expiration: soon() }));
}

/**
 * Whether an environment variable names a file with default credentials. Only then are default credentials sent to an
 * emulator, which normally needs none.
 */
const hasDefaultFile = () => Boolean(process.env["GOOGLE_APPLICATION_CREDENTIALS"]);

function fromText(configuration: GsConfiguration, token: string): Renewable<AccessToken> {
  const looksLikePath = /[/\\]|\.json$/.test(token) && !token.startsWith("ya29.");
  let raw = !looksLikePath;
  const source = renewing(async (): Promise<AccessToken> => {
    const dict = await readTokenFile(token);
    raw = dict === undefined;
    if (dict) return fromDict(configuration, dict).get();
    if (!looksLikePath) return { token };
    throw refuseFile(
      isSurelyPath(token)
        ? `${pathOf(token)} does not exist`
        : "expected an access token or the path of an existing file; the given text looks like a path, but there is no such file",
    );
  });
  return { get: source.get, renew: () => !raw && source.renew() };
}

const refuseFile = (why: string, cause?: unknown) =>
  new StorageError("config", `token: ${why}`, { scheme: "gs", cause });

/**
 * Whether a token is certainly the path of a file. Any other text may be a secret, even if it contains a slash, so
 * messages do not quote it.
 */
const isSurelyPath = (token: string) => /^(~|\.{1,2})?[/\\]|^[a-z]:[/\\]|\.json$/i.test(token);

const pathOf = (token: string) => token.replace(/^~(?=\/)/, homedir());

/** Reads a token file. Returns undefined if there is no such file, because `token` is then the access token itself. */
async function readTokenFile(token: string): Promise<TokenDict | undefined> {
  const path = pathOf(token);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EACCES" || error.code === "EISDIR")
      throw refuseFile(`${path} cannot be read (${error.code})`, error);
    return undefined;
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as TokenDict;
  } catch {
    throw refuseFile(`${path} is not a token file: its content is not valid JSON`);
  }
}

function fromDict(configuration: GsConfiguration, token: TokenDict): Renewable<AccessToken> {
  if (typeof token["getAccessToken"] === "function") {
    return renewing(() => fromClient(async () => token as unknown as TokenClient));
  }
  if (isCredential(token)) return renewing(() => fromClient(() => createClient(configuration, token)));
  const plain = token["access_token"] ?? token["token"];
  if (typeof plain === "string") return lasting({ token: plain });
  throw new StorageError(
    "config",
    "token: the dictionary contains no credentials; expected the key access_token, or the content of a credentials file",
    { scheme: "gs" },
  );
}

const isCredential = (token: TokenDict) =>
  token["type"] !== undefined || token["private_key"] !== undefined || token["refresh_token"] !== undefined;

/** Creates an instance of Google's auth library, which is loaded at the first use. */
async function createAuth(configuration: GsConfiguration): Promise<GoogleAuth> {
  const { GoogleAuth } = await import("google-auth-library");
  return new GoogleAuth({ scopes: scopeOf(configuration), clientOptions: clientOptions(configuration) });
}

/** Creates a client of Google's auth library from a dict. The library's own function for this prints a warning. */
async function createClient(configuration: GsConfiguration, token: TokenDict): Promise<TokenClient> {
  const { ExternalAccountClient, GoogleAuth, JWT, UserRefreshClient } = await import("google-auth-library");
  const scopes = [scopeOf(configuration)];
  const options = { ...clientOptions(configuration), scopes };
  const text = (name: string) => String(token[name] ?? "");
  if (token["private_key"] !== undefined) {
    const { email, key, keyId } = {
      email: text("client_email"),
      key: text("private_key"),
      keyId: text("private_key_id"),
    };
    return new JWT({ ...options, email, key, keyId });
  }
  if (token["refresh_token"] !== undefined && token["type"] !== "external_account_authorized_user") {
    const { clientId, clientSecret } = { clientId: text("client_id"), clientSecret: text("client_secret") };
    return new UserRefreshClient({ ...options, clientId, clientSecret, refreshToken: text("refresh_token") });
  }
  const external =
    token["type"] === "external_account" && ExternalAccountClient.fromJSON({ ...token, ...options } as never);
  return (
    external || new GoogleAuth({ scopes, credentials: token, clientOptions: clientOptions(configuration) }).getClient()
  );
}

const scopeOf = ({ values }: GsConfiguration) =>
  `https://www.googleapis.com/auth/devstorage.${values.access ?? "full_control"}`;

/** Returns options that send token requests through the same proxy as other requests. */
function clientOptions({ values }: GsConfiguration) {
  const proxy = values["session_kwargs.proxy"];
  return proxy === null ? {} : { transporterOptions: { proxy } };
}

const fromAuth = (create: () => Promise<GoogleAuth>) =>
  fromClient(async () => (await (await create()).getClient()) as TokenClient);

async function fromMetadataServer(configuration: GsConfiguration): Promise<AccessToken> {
  const { Compute } = await import("google-auth-library");
  return fromClient(async () => new Compute({ scopes: [scopeOf(configuration)] }));
}

async function fromClient(create: () => Promise<TokenClient>): Promise<AccessToken> {
  try {
    const client = await create();
    const { token } = await client.getAccessToken();
    if (!token) throw new Error("the credentials returned no access token");
    const end = client.credentials?.expiry_date;
    return { token, expiration: end ? new Date(end) : soon() };
  } catch (error) {
    if (isStorageError(error)) throw error;
    const message = `cannot get credentials for gs:// (${(error as Error).message}); set token, or set token to "anon" for a public bucket`;
    throw new StorageError("permission", message, { scheme: "gs", cause: error });
  }
}

/** Signs URLs for a service account: with its private key, or through Google's signing service. */
export interface UrlSigner {
  readonly email: string;
  sign(text: string): Promise<Buffer>;
}

/**
 * Returns the signer of the configured credentials. Plain tokens, user credentials and anonymous access cannot sign
 * URLs; for these, returns undefined.
 */
export async function urlSigner(configuration: GsConfiguration): Promise<UrlSigner | undefined> {
  const { token } = configuration.values;
  if (token === null || token === "google_default" || token === "cloud") return remoteSigner(configuration);
  const dict = typeof token === "string" ? await readTokenFile(token) : token;
  const { client_email: email, private_key: key } = dict ?? {};
  if (typeof email !== "string" || typeof key !== "string") return undefined;
  return { email, sign: async (text) => createSign("RSA-SHA256").update(text).sign(key) };
}

async function remoteSigner(configuration: GsConfiguration): Promise<UrlSigner | undefined> {
  const auth = await createAuth(configuration);
  const email = (await auth.getCredentials().catch(() => undefined))?.client_email;
  return email ? { email, sign: async (text) => Buffer.from(await auth.sign(text), "base64") } : undefined;
}

/**
 * Returns the project. If the token is `google_default`, this is the project of the default credentials or, if they
 * name none, the configured project. For other tokens, it is the configured project. Returns undefined if no project is
 * found, or if access is anonymous.
 */
export async function projectOf(configuration: GsConfiguration): Promise<string | undefined> {
  const { token, project } = configuration.values;
  if (token === "anon") return undefined;
  if (token !== "google_default") return project ?? undefined;
  const auth = await createAuth(configuration);
  return auth.getProjectId().catch(() => project ?? undefined);
}
