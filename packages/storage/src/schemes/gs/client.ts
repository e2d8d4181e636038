/** Sends calls to Google Cloud Storage, retries if that is useful, and throws storage errors. */
import { encodeQuery, encodeText } from "../../address/url-encoding.ts";
import type { CallOptions } from "../../backend.ts";
import type { Renewable } from "../../concurrency/renewing.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { type ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpClient } from "../../http/client.ts";
import type { HttpAnswer, HttpRequest } from "../../http/messages.ts";
import { parseJson } from "../../http/parse-answer.ts";
import { givenAddress, harmlessHeaders } from "../../http/redirect.ts";
import { type AccessToken, projectOf, tokenSource } from "./credentials.ts";
import { endpointOf } from "./endpoint.ts";
import { toStorageError } from "./errors.ts";
import type { parameters } from "./parameters.ts";
import { sessionHeaders } from "./session.ts";

export interface GsRequest extends CallOptions, Pick<HttpRequest, "isDirect"> {
  readonly method: HttpRequest["method"];
  /** Encoded path without the query. */
  readonly path: string;
  /** Key of the object, for error messages; empty for calls on the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export class GsClient {
  readonly bucket: string;
  readonly listPath: string;
  readonly uploadPath: string;
  readonly endpoint: string;
  readonly configuration: Configuration<typeof parameters>;
  readonly retryPolicy: RetryPolicy;
  readonly #http: HttpClient;
  readonly #tokens: Renewable<AccessToken> | undefined;
  readonly #headers: Readonly<Record<string, string>>;
  #payer: Promise<string | undefined> | undefined;

  constructor(bucket: string, configuration: Configuration<typeof parameters>, http: HttpClient, policy: RetryPolicy) {
    this.bucket = bucket;
    this.listPath = `/storage/v1/b/${encodeText(bucket)}/o`;
    this.uploadPath = `/upload${this.listPath}`;
    this.endpoint = endpointOf(configuration.values.endpoint_url);
    this.configuration = configuration;
    this.retryPolicy = policy;
    this.#http = http;
    this.#tokens = tokenSource(configuration);
    this.#headers = sessionHeaders(configuration.values);
  }

  objectPath(key: string): string {
    return `${this.listPath}/${encodeText(key)}`;
  }

  /** Returns a successful answer with an unread body. */
  send(request: GsRequest): Promise<HttpAnswer> {
    return retry(this.retryPolicy, request.signal, async () => {
      const answer = await this.#sendOnce(request);
      if (answer.status < 300) return answer;
      throw await this.toError(request.key, answer);
    });
  }

  async sendForJson<T>(request: GsRequest): Promise<T> {
    return retry(this.retryPolicy, request.signal, async () => {
      const answer = await this.#sendOnce(request);
      if (answer.status < 300) return parseJson<T>(answer, this.place(request.key));
      throw await this.toError(request.key, answer);
    });
  }

  /**
   * Sends one request, without retries, to a URL that the store issued and that needs no credentials. Returns the
   * answer even if it is an error.
   */
  sendToUrl(url: string, request: Omit<HttpRequest, "origin" | "path">, key: string): Promise<HttpAnswer> {
    const place = this.place(key);
    const { origin, pathname, search, host } = givenAddress(url, place);
    const isOwn = origin === new URL(this.endpoint).origin;
    const headers = { ...(isOwn ? this.#headers : harmlessHeaders(this.#headers)), ...request.headers, host };
    return this.#http.send({ ...request, origin, path: pathname + search, headers }, place);
  }

  async toError(key: string, answer: HttpAnswer): Promise<StorageError> {
    const body = await answer.text();
    const renewed = answer.status === 401 && (this.#tokens?.renew() ?? false);
    return toStorageError(answer, body, this.place(key), renewed ? { retryable: true } : {});
  }

  place(key: string): ErrorPlace {
    return { scheme: "gs", bucket: this.bucket, key };
  }

  /** Returns the query parameter that names the project to bill. Returns no parameter if `requester_pays` is false. */
  async payerQuery(): Promise<Record<string, string>> {
    const { requester_pays } = this.configuration.values;
    if (requester_pays === false) return {};
    if (typeof requester_pays === "string") return { userProject: requester_pays };
    this.#payer ??= projectOf(this.configuration);
    const project = await this.#payer;
    if (project !== undefined) return { userProject: project };
    this.#payer = undefined;
    throw new StorageError("config", "requester_pays: the default credentials name no project to bill; set project", {
      scheme: "gs",
    });
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #sendOnce(request: GsRequest): Promise<HttpAnswer> {
    const query = encodeQuery({ ...request.query, ...(await this.payerQuery()) });
    const credentials = await this.#tokens?.get();
    const authorization = credentials?.token === undefined ? {} : { authorization: `Bearer ${credentials.token}` };
    const headers = { ...this.#headers, ...authorization, ...request.headers };
    const { method, body, signal, isDirect } = request;
    const sent = { method, origin: this.endpoint, path: request.path + query, headers, body, signal, isDirect };
    return this.#http.send(sent, this.place(request.key));
  }
}
