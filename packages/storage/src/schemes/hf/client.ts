/** Sends calls to the hub: adds the token, follows redirects, retries if that is useful, and throws storage errors. */
import type { Readable } from "node:stream";
import type { Location } from "../../address/uri.ts";
import { encodeKey } from "../../address/url-encoding.ts";
import type { CallOptions } from "../../backend.ts";
import { type RetryPolicy, retry } from "../../concurrency/retry.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { HttpClient } from "../../http/client.ts";
import type { HttpAnswer, HttpRequest } from "../../http/messages.ts";
import { parseJson } from "../../http/parse-answer.ts";
import { givenAddress, redirectOf } from "../../http/redirect.ts";
import { isEntryMissing, toStorageError } from "./errors.ts";
import { type RepositoryName, type RepositoryType, repositoryOf } from "./repository.ts";

export interface HubRequest extends CallOptions, Pick<HttpRequest, "isDirect"> {
  readonly method: HttpRequest["method"];
  readonly url: string;
  /** Key of the file, for error messages. */
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /**
   * Returns a stream to send instead of `body`. Called once for each attempt. If this is set, `headers` must contain
   * the content length.
   */
  readonly stream?: () => Readable;
  /** Set if the URL is presigned. The hub's token must not be sent to such a URL. */
  readonly isSigned?: true;
}

export interface HubAnswer {
  /** The answer with the body, after all redirects. */
  readonly answer: HttpAnswer;
  /**
   * The answer of the hub itself, which describes the file. Differs from `answer` if the hub redirects to another
   * server.
   */
  readonly told: HttpAnswer;
}

export interface HubSettings {
  readonly location: Location;
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly http: HttpClient;
  readonly retry: RetryPolicy;
}

const mostRedirects = 10;

export class HubClient {
  readonly name: RepositoryName;
  readonly #settings: HubSettings;
  #type: Promise<RepositoryType> | undefined;

  constructor(settings: HubSettings) {
    this.#settings = settings;
    this.name = repositoryOf(settings.location);
  }

  /** Returns the URL of an API call about this repository. */
  async apiUrl(call: string, revision = this.name.revision, path = ""): Promise<string> {
    const below = path === "" ? "" : `/${encodeKey(path)}`;
    return `${this.#apiOf(await this.#typeOf())}/${call}/${encodeURIComponent(revision)}${below}`;
  }

  /** Returns the URL of a file for reading. `rest` is what follows the name of the repository. */
  async fileUrl(rest: string): Promise<string> {
    const type = await this.#typeOf();
    return `${this.#settings.endpoint}/${type === "model" ? "" : `${type}s/`}${this.name.id}${rest}`;
  }

  #apiOf(type: RepositoryType): string {
    return `${this.#settings.endpoint}/api/${type}s/${this.name.id}`;
  }

  send(request: HubRequest): Promise<HubAnswer> {
    return retry(this.#settings.retry, request.signal, async () => {
      const sent = await this.#follow(request);
      if (sent.answer.status < 300) return sent;
      throw await toStorageError(sent.answer, this.place(request.key));
    });
  }

  /** Returns the answer, or undefined if the file or folder does not exist. Throws if the repository does not exist. */
  async sendUnlessMissing(request: HubRequest): Promise<HttpAnswer | undefined> {
    return retry(this.#settings.retry, request.signal, async () => {
      const { answer } = await this.#follow(request);
      if (answer.status < 300) return answer;
      if (!isEntryMissing(answer)) throw await toStorageError(answer, this.place(request.key));
      await answer.discard();
      return undefined;
    });
  }

  /** Sends JSON, and returns the JSON of the answer. */
  async call<T>(url: string, key: string, body: object, { signal }: CallOptions): Promise<T> {
    const headers = { "content-type": "application/json" };
    const { answer } = await this.send({
      method: "POST",
      url,
      key,
      headers,
      body: Buffer.from(JSON.stringify(body)),
      signal,
    });
    return parseJson<T>(answer, this.place(key));
  }

  /** Returns the id of the commit that the revision points to now. */
  async head({ signal }: CallOptions): Promise<string> {
    const { answer } = await this.send({ method: "GET", url: await this.apiUrl("revision"), key: "", signal });
    const { sha } = await parseJson<{ sha: string }>(answer, this.place(""));
    return sha;
  }

  /**
   * Returns the URL of the next page, or undefined if there is none. The host is always that of the configured
   * endpoint, even if the hub's answer names another host.
   */
  nextUrl(answer: HttpAnswer): string | undefined {
    const next = /<([^>]+)>;\s*rel="next"/.exec(answer.header("link") ?? "")?.[1];
    if (next === undefined) return undefined;
    const endpoint = new URL(this.#settings.endpoint);
    const { pathname, search } = givenAddress(next, this.place(""), endpoint);
    return endpoint.origin + pathname + search;
  }

  place(key: string) {
    return { scheme: "hf", bucket: this.#settings.location.bucket, key };
  }

  close(): Promise<void> {
    return this.#settings.http.close();
  }

  async #follow(request: HubRequest): Promise<HubAnswer> {
    const place = this.place(request.key);
    let url = givenAddress(request.url, place);
    let told: HttpAnswer | undefined;
    for (let count = 0; count <= mostRedirects; count += 1) {
      const answer = await this.#sendOnce(request, url);
      if (answer.header("x-repo-commit") !== undefined) told ??= answer;
      const next = await redirectOf(answer, url, place);
      if (!next) return { answer, told: told ?? answer };
      url = next;
    }
    throw new StorageError(
      "failed",
      `${request.url}: the request was redirected more than ${mostRedirects} times`,
      place,
    );
  }

  #sendOnce(
    { method, headers, body, stream, signal, isDirect, key, isSigned }: HubRequest,
    url: URL,
  ): Promise<HttpAnswer> {
    const { endpoint, token, http } = this.#settings;
    const isHub = url.origin === new URL(endpoint).origin && !isSigned;
    const sent: Record<string, string> = {
      "user-agent": "millrace-storage",
      "accept-encoding": "identity",
      ...headers,
    };
    if (isHub && token !== undefined) sent["authorization"] = `Bearer ${token}`;
    const path = url.pathname + url.search;
    const request = { method, origin: url.origin, path, headers: sent, body: stream?.() ?? body, signal, isDirect };
    return http.send(request, this.place(key));
  }

  #typeOf(): Promise<RepositoryType> {
    this.#type ??= this.#findType().catch((error: unknown) => {
      this.#type = undefined;
      throw error;
    });
    return this.#type;
  }

  /** Returns the type of the repository. Asks the hub only if the URI does not contain the type. */
  async #findType(): Promise<RepositoryType> {
    const [only, another] = this.name.types;
    if (only !== undefined && another === undefined) return only;
    for (const type of this.name.types) if (await this.#isThere(type)) return type;
    const tried = this.name.types.join(" and no ");
    const token = this.#settings.token === undefined ? "; for a private repository, set token" : "";
    throw new StorageError("not_found", `the Hugging Face hub has no ${tried} ${this.name.id}${token}`, this.place(""));
  }

  async #isThere(type: RepositoryType): Promise<boolean> {
    try {
      const { answer } = await this.send({ method: "GET", url: this.#apiOf(type), key: "" });
      await answer.discard();
      return true;
    } catch (error) {
      if (isStorageError(error, "not_found")) return false;
      throw error;
    }
  }
}
