/**
 * Signs requests with version 4 signatures in headers. This code exists because it takes 6 microseconds per request,
 * while AWS's own signer takes 28, which was a third of the time to read a small object. A test compares the signatures
 * of both.
 */
import { createHmac, hash } from "node:crypto";
import { encodeText } from "../../address/url-encoding.ts";
import type { CredentialSource, Credentials } from "./credentials.ts";

/** A request before it is signed. */
export interface Signable {
  readonly method: string;
  /** Protocol with a colon, such as `https:`. Protocol and host are used only for presigned URLs. */
  readonly protocol: string;
  readonly hostname: string;
  /** Encoded path. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Headers with names in lower case. The header `hashHeader` contains the hash of the body. */
  readonly headers: Record<string, string>;
}

export const hashHeader = "x-amz-content-sha256";

const algorithm = "AWS4-HMAC-SHA256";

/** The header that is not signed, because proxies may change it. */
const unsigned = "cache-control";

/** Date and scope of a signature. */
interface Moment {
  readonly second: number;
  readonly time: string;
  readonly day: string;
  readonly scope: string;
}

export class Signer {
  readonly #source: CredentialSource;
  readonly #region: string;
  #moment: Moment | undefined;
  /** The signing key, which is valid for one day, and the secret from which it was computed. */
  #key: { readonly secret: string; readonly day: string; readonly bytes: Buffer } | undefined;

  constructor(source: CredentialSource, region: string) {
    this.#source = source;
    this.#region = region;
  }

  /**
   * Signs a request. Returns its headers with the date and the signature, which covers method, path, query, headers and
   * the hash of the body.
   */
  async sign(request: Signable, now = Date.now()): Promise<Record<string, string>> {
    const credentials = await this.#source.get();
    const { time, day, scope } = this.#momentOf(now);
    const { headers } = request;
    headers["x-amz-date"] = time;
    if (credentials.sessionToken) headers["x-amz-security-token"] = credentials.sessionToken;
    const names = signedNames(headers);
    const text = `${algorithm}\n${time}\n${scope}\n${hash("sha256", canonical(request, headers, names))}`;
    const signature = createHmac("sha256", this.#keyOf(credentials, day)).update(text).digest("hex");
    const credential = `${credentials.accessKeyId}/${scope}`;
    headers["authorization"] =
      `${algorithm} Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
    return headers;
  }

  #momentOf(now: number): Moment {
    const second = Math.floor(now / 1000);
    if (this.#moment?.second !== second) {
      const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
      const day = time.slice(0, 8);
      this.#moment = { second, time, day, scope: `${day}/${this.#region}/s3/aws4_request` };
    }
    return this.#moment;
  }

  #keyOf({ secretAccessKey: secret }: Credentials, day: string): Buffer {
    if (this.#key?.secret !== secret || this.#key.day !== day) {
      const steps = [day, this.#region, "s3", "aws4_request"];
      const mac = (key: string | Buffer, word: string) => createHmac("sha256", key).update(word).digest();
      this.#key = { secret, day, bytes: steps.reduce<string | Buffer>(mac, `AWS4${secret}`) as Buffer };
    }
    return this.#key.bytes;
  }
}

const signedNames = (headers: Readonly<Record<string, string>>) =>
  Object.keys(headers)
    .filter((name) => name !== unsigned)
    .sort();

function canonical({ method, path, query }: Signable, headers: Record<string, string>, names: string[]): string {
  let lines = "";
  for (const name of names) lines += `${name}:${oneSpaced(headers[name] ?? "")}\n`;
  return `${method}\n${path}\n${canonicalQuery(query)}\n${lines}\n${names.join(";")}\n${headers[hashHeader]}`;
}

const oneSpaced = (value: string) =>
  /[ \t]/.test(value) ? value.replace(/[ \t]+/g, " ").replace(/^ | $/g, "") : value;

const canonicalQuery = (query: Readonly<Record<string, string>>) =>
  Object.keys(query)
    .map((name) => [encodeText(name), encodeText(query[name] ?? "")] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");

export const sha256Hex = (bytes: Uint8Array): string => hash("sha256", bytes);
