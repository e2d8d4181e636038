/** Sends signed S3 calls: builds and signs each attempt anew, retries if that is useful, and throws storage errors. */
import { encodeQuery } from "../../address/url-encoding.ts";
import type { CallOptions } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { ErrorPlace, StorageError } from "../../errors.ts";
import { mostTold } from "../../http/bounds.ts";
import type { HttpClient } from "../../http/client.ts";
import type { HttpAnswer, HttpRequest } from "../../http/messages.ts";
import { elementText, requireRoot } from "../../http/xml.ts";
import { type Address, addressOf } from "./address.ts";
import { type CallName, headersOfMembers } from "./call-members.ts";
import { type CredentialSource, credentialSource } from "./credentials.ts";
import { toStorageError } from "./errors.ts";
import type { parameters } from "./parameters.ts";
import { knownRegion, lookUpRegion } from "./region.ts";
import { hashHeader, type Signable, Signer, sha256Hex } from "./signature.ts";

export interface S3Request extends CallOptions, Pick<HttpRequest, "isDirect"> {
  readonly call: CallName;
  readonly method: HttpRequest["method"];
  /** Key of the object; empty for calls on the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /**
   * Called before each attempt with the number of the attempt, from 1. From the second attempt on, an earlier attempt
   * may have succeeded although its answer was lost.
   */
  readonly onAttempt?: (attempt: number) => void;
}

/** A call whose answer is an XML document. */
interface DocumentRequest extends S3Request {
  /** Name of the root element of the answer. */
  readonly root: string;
}

const errorRoot = /^\s*(<\?xml[^>]*\?>)?\s*<Error>/;

/** Bytes of an error that are read. */
const mostOfError = 65_536;

const emptyHash = sha256Hex(new Uint8Array());

export class S3Client {
  readonly bucket: string;
  readonly configuration: Configuration<typeof parameters>;
  readonly retryPolicy: RetryPolicy;
  readonly #http: HttpClient;
  readonly #credentials: CredentialSource | undefined;
  readonly #renewedFor = new WeakSet<S3Request>();
  #region: Promise<string> | undefined;
  #target: { region: string; address: Address; signer: Signer | undefined } | undefined;

  constructor(bucket: string, configuration: Configuration<typeof parameters>, http: HttpClient, policy: RetryPolicy) {
    this.bucket = bucket;
    this.configuration = configuration;
    this.retryPolicy = policy;
    this.#http = http;
    this.#credentials = credentialSource(configuration);
  }

  /** Returns a successful answer with an unread body. */
  send(request: S3Request): Promise<HttpAnswer> {
    return retry(this.retryPolicy, request.signal, (attempt) => this.#succeed(request, attempt));
  }

  /**
   * Returns the whole body. If the body breaks off or is not the expected document, the call is retried. Throws if the
   * body is an error, which the store may send with status 200.
   */
  sendForBytes(request: DocumentRequest): Promise<Uint8Array> {
    return retry(this.retryPolicy, request.signal, async (attempt) => {
      const answer = await this.#succeed(request, attempt);
      const bytes = await answer.bytes(mostTold);
      const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1024)).toString("latin1");
      if (errorRoot.test(head))
        throw toStorageError(answer, Buffer.from(bytes).toString("utf8", 0, mostOfError), this.place(request.key));
      requireRoot(bytes, request.root, this.place(request.key));
      return bytes;
    });
  }

  /** Returns the body as text, like `sendForBytes`. */
  async sendForText(request: DocumentRequest): Promise<string> {
    return Buffer.from(await this.sendForBytes(request)).toString("utf8");
  }

  /** Returns the region that requests are signed for. */
  async region(): Promise<string> {
    return (await this.#reach()).region;
  }

  async presign(request: S3Request, expiresIn: number): Promise<string> {
    const { address, region } = await this.#reach();
    const signable = this.#signable(request, address);
    if (!this.#credentials) return address.origin + signable.path + encodeQuery(signable.query);
    signable.headers[hashHeader] = "UNSIGNED-PAYLOAD";
    // The store does not accept these in the query, so the user of the URL must send them as headers.
    const unhoistable = Object.keys(signable.headers).filter((name) => name.startsWith("x-amz-server-side-encryption"));
    const { createPresigner } = await import("./presigner.ts");
    const presigner = createPresigner(this.#credentials, region);
    const signed = await presigner.presign(signable, { expiresIn, unhoistableHeaders: new Set(unhoistable) });
    return address.origin + signed.path + encodeQuery(signed.query as Record<string, string>);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  place(key: string): ErrorPlace {
    return { scheme: "s3", bucket: this.bucket, key };
  }

  async #succeed(request: S3Request, attempt: number): Promise<HttpAnswer> {
    request.onAttempt?.(attempt);
    const answer = await this.#sendOnce(request);
    if (answer.status < 300) return answer;
    throw await this.#toError(request, answer);
  }

  async #sendOnce(request: S3Request): Promise<HttpAnswer> {
    const { address, signer } = await this.#reach();
    const signable = this.#signable(request, address);
    signable.headers[hashHeader] = this.#hashOf(address, request.body);
    const headers = signer ? await signer.sign(signable) : signable.headers;
    const path = signable.path + encodeQuery(signable.query);
    const { method, body, signal, isDirect } = request;
    const { origin } = address;
    return this.#http.send({ method, origin, path, headers, body, signal, isDirect }, this.place(request.key));
  }

  /**
   * Returns the hash of the body for the signature. With TLS, the signature covers the body only if
   * `payload_signing_enabled` is true, because TLS already protects the body.
   */
  #hashOf({ protocol }: Address, body: Uint8Array | undefined): string {
    if (body === undefined || body.length === 0) return emptyHash;
    const isSigned = protocol !== "https:" || this.configuration.values["config_kwargs.s3.payload_signing_enabled"];
    return isSigned ? sha256Hex(body) : "UNSIGNED-PAYLOAD";
  }

  #signable(request: S3Request, address: Address): Signable {
    const { values } = this.configuration;
    const headers: Record<string, string> = {
      host: address.host,
      ...(values.requester_pays ? { "x-amz-request-payer": "requester" } : {}),
      ...headersOfMembers(values.s3_additional_kwargs, request.call),
      ...request.headers,
    };
    const path = address.path(request.key);
    return {
      method: request.method,
      protocol: address.protocol,
      hostname: address.host,
      path,
      query: request.query ?? {},
      headers,
    };
  }

  async #reach() {
    this.#region ??= this.#findRegion().catch((error: unknown) => {
      this.#region = undefined;
      throw error;
    });
    const region = await this.#region;
    if (this.#target?.region !== region) {
      const address = addressOf(this.configuration, this.bucket, region);
      const signer = this.#credentials && new Signer(this.#credentials, region);
      this.#target = { region, address, signer };
    }
    return this.#target;
  }

  async #findRegion(): Promise<string> {
    return (
      (await knownRegion(this.configuration, this.bucket)) ?? lookUpRegion(this.configuration, this.bucket, this.#http)
    );
  }

  async #toError(request: S3Request, answer: HttpAnswer): Promise<StorageError> {
    const body = await answer.text();
    const again = this.#moved(answer, body) || this.#expired(body) || this.#mayHaveExpired(request, answer);
    return toStorageError(answer, body, this.place(request.key), again ? { retryable: true } : {});
  }

  /** Returns true if the answer says that the bucket is in another region. Further requests then use that region. */
  #moved(answer: HttpAnswer, body: string): boolean {
    const region = answer.header("x-amz-bucket-region") ?? elementText(body, "Region");
    const misdirected = [301, 307, 400].includes(answer.status);
    if (!misdirected || region === undefined || region === this.#target?.region) return false;
    this.#region = Promise.resolve(region);
    return true;
  }

  #expired(body: string): boolean {
    const word = elementText(body, "Code");
    if (word !== "ExpiredToken" && word !== "TokenRefreshRequired") return false;
    return this.#credentials?.renew() ?? false;
  }

  /**
   * Renews the credentials after a HEAD that failed with status 400, and tells whether to send the request again. The
   * answer to a HEAD has no body and so no error code; expired credentials are a possible cause. Renews only once for
   * each request.
   */
  #mayHaveExpired(request: S3Request, { status }: HttpAnswer): boolean {
    if (request.method !== "HEAD" || status !== 400 || this.#renewedFor.has(request)) return false;
    this.#renewedFor.add(request);
    return this.#credentials?.renew() ?? false;
  }
}
