/** Sends calls to Azure Blob Storage: authorizes each attempt, retries if that is useful, and throws storage errors. */
import { encodeKey, encodeQuery, encodeText } from "../../address/url-encoding.ts";
import type { CallOptions } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { type ErrorPlace, StorageError } from "../../errors.ts";
import { mostTold } from "../../http/bounds.ts";
import type { HttpClient } from "../../http/client.ts";
import type { HttpAnswer, HttpRequest } from "../../http/messages.ts";
import { requireRoot } from "../../http/xml.ts";
import type { Account } from "./account.ts";
import { type Authorizer, authorizerOf } from "./authorizer.ts";
import { toStorageError } from "./errors.ts";
import type { parameters } from "./parameters.ts";

/** Root element of a page of blobs or containers. */
export const listRoot = "EnumerationResults";

export interface AzRequest extends CallOptions, Pick<HttpRequest, "isDirect"> {
  readonly method: HttpRequest["method"];
  /** Key of the blob; empty for calls on the container. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** True if the request transfers content. The parameter `timeout` applies only to such requests. */
  readonly transfer?: true;
}

export interface AzSettings {
  readonly account: Account;
  /** Name of the container; empty for calls on the account. */
  readonly container: string;
  readonly configuration: Configuration<typeof parameters>;
  readonly http: HttpClient;
  readonly retry: RetryPolicy;
}

/**
 * API version, sent with every request. It supports blob versions, encoded names in listings, and blocks of 4,000 MiB.
 * Newer services still accept this version.
 */
export const serviceVersion = "2021-12-02";

export class AzClient {
  readonly container: string;
  readonly account: Account;
  readonly configuration: Configuration<typeof parameters>;
  readonly retryPolicy: RetryPolicy;
  readonly authorizer: Authorizer;
  readonly #http: HttpClient;
  readonly #origin: string;
  /** Path in the URL of the account. For an emulator, this is the account name; for other services, it is empty. */
  readonly #folder: string;

  constructor({ account, container, configuration, http, retry: policy }: AzSettings) {
    this.account = account;
    this.container = container;
    this.configuration = configuration;
    this.retryPolicy = policy;
    this.authorizer = authorizerOf(account, configuration.values.request_session);
    this.#http = http;
    const { origin, pathname } = new URL(account.url);
    this.#origin = origin;
    this.#folder = pathname.replace(/\/$/, "");
  }

  /** Returns a successful answer with an unread body. */
  send(request: AzRequest): Promise<HttpAnswer> {
    return retry(this.retryPolicy, request.signal, async () => {
      const answer = await this.#sendOnce(request);
      if (answer.status < 300) return answer;
      throw await this.#toError(request, answer);
    });
  }

  /** Returns the whole body. If the body is to be an XML document, `root` is the name of its root element. */
  sendForBytes(request: AzRequest, root?: string): Promise<Uint8Array> {
    return retry(this.retryPolicy, request.signal, async () => {
      const answer = await this.#sendOnce(request);
      if (answer.status >= 300) throw await this.#toError(request, answer);
      const bytes = await answer.bytes(mostTold);
      if (root !== undefined) requireRoot(bytes, root, this.place(request.key));
      return bytes;
    });
  }

  async sendForText(request: AzRequest, root?: string): Promise<string> {
    return Buffer.from(await this.sendForBytes(request, root)).toString();
  }

  path(key: string): string {
    const container = `${this.#folder}/${encodeText(this.container)}`;
    if (key.includes("\\")) {
      const message = `az://${this.container}/${key}: az:// does not allow a backslash in a key, because the store would take the backslash for a slash`;
      throw new StorageError("invalid", message, this.place(key));
    }
    return key === "" ? container : `${container}/${encodeKey(key)}`;
  }

  /** Returns the URL of a blob, including the SAS token, if there is one. */
  url(key: string, query: Readonly<Record<string, string>> = {}): string {
    return this.#origin + this.path(key) + this.#fullQuery(query);
  }

  place(key: string): ErrorPlace {
    return { scheme: "az", bucket: this.container, key };
  }

  /** Returns the headers of a complete request, authorization included. */
  async signed(request: AzRequest, query: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    const length = request.body?.length ?? 0;
    const headers: Record<string, string> = {
      "x-ms-date": new Date().toUTCString(),
      "x-ms-version": serviceVersion,
      ...request.headers,
      ...(length > 0 ? { "content-length": String(length) } : {}),
    };
    const path = this.path(request.key);
    return { ...headers, ...(await this.authorizer.headers({ method: request.method, path, query, headers })) };
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #sendOnce(request: AzRequest): Promise<HttpAnswer> {
    const { timeout } = this.configuration.values;
    const query = { ...request.query, ...(request.transfer && timeout !== null ? { timeout: String(timeout) } : {}) };
    const headers = await this.signed(request, query);
    const { method, body, signal, isDirect } = request;
    const path = this.path(request.key) + this.#fullQuery(query);
    const origin = this.#origin;
    return this.#http.send({ method, origin, path, headers, body, signal, isDirect }, this.place(request.key));
  }

  #fullQuery(query: Readonly<Record<string, string>>): string {
    const words = encodeQuery(query);
    if (this.authorizer.query === "") return words;
    return `${words || "?"}${words ? "&" : ""}${this.authorizer.query}`;
  }

  async #toError(request: AzRequest, answer: HttpAnswer): Promise<StorageError> {
    const body = await answer.text();
    const renewed = answer.status === 401 && this.authorizer.renew();
    return toStorageError(answer, body, this.place(request.key), renewed ? { retryable: true } : {});
  }
}
