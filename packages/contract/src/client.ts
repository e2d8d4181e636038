/** A typed client of the API, built from the same route definitions as the server. */
import { ApiError, type ErrorCode, errorCodes, isErrorHint } from "./errors.ts";
import type { UploadedFile } from "./files.ts";
import type { Route, RouteInput, RouteOutput } from "./routes.ts";

interface ClientOptions {
  /** Base URL of the server, without `/api`. */
  readonly url: string;
  readonly token?: string | undefined;
  /** Team for calls that name none: the default of `team_name` in every query and body that has this field. */
  readonly team?: string | undefined;
  readonly fetch?: typeof fetch;
}

interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface Client {
  readonly url: string;
  call<R extends Route>(route: R, input: RouteInput<R>, options?: CallOptions): Promise<RouteOutput<R>>;
  /**
   * Sends a request and returns the raw response, for example to stream it. Throws if the server answers with an error.
   */
  request<R extends Route>(route: R, input: RouteInput<R>, options?: CallOptions): Promise<Response>;
  upload(route: Route & { upload: true }, file: Blob, filename: string): Promise<UploadedFile>;
}

type LooseInput = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: Record<string, unknown> };

/** A request as any program would send it, without credentials. */
export interface PlainRequest {
  readonly method: Route["method"];
  readonly url: string;
  /** The JSON body; undefined if the request has none. */
  readonly body: Record<string, unknown> | undefined;
}

/** Returns the request that a client with these options sends for a call. */
export function requestOf<R extends Route>(options: ClientOptions, route: R, input: RouteInput<R>): PlainRequest {
  const { params, query, body } = input as LooseInput;
  const hasBody = route.method !== "GET" && !route.upload;
  return {
    method: route.method,
    url: options.url.replace(/\/+$/, "") + fillPath(route, params) + queryString(withTeam(options, route.query, query)),
    body: hasBody ? withTeam(options, route.body as Route["query"], body) : undefined,
  };
}

const withTeam = ({ team }: ClientOptions, schema: Route["query"], values: Record<string, unknown> = {}) =>
  team && schema && "team_name" in schema.properties ? { team_name: team, ...values } : values;

export function createClient(options: ClientOptions): Client {
  const base = options.url.replace(/\/+$/, "");
  const doFetch = options.fetch ?? fetch;

  async function send(route: Route, input: LooseInput, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (options.token) headers.set("authorization", `Bearer ${options.token}`);
    const { url } = requestOf(options, route, input as RouteInput<Route>);
    const response = await doFetch(url, { ...init, method: route.method, headers });
    if (!response.ok) throw await readError(response);
    return response;
  }

  const request = <R extends Route>(route: R, input: RouteInput<R>, call: CallOptions = {}) => {
    const loose = input as LooseInput;
    const init: RequestInit = { headers: call.headers ?? {}, ...(call.signal ? { signal: call.signal } : {}) };
    const { body } = requestOf(options, route, input);
    if (body !== undefined) {
      init.headers = { ...call.headers, "content-type": "application/json" };
      init.body = JSON.stringify(body);
    }
    return send(route, loose, init);
  };

  return {
    url: base,
    request,
    call: async (route, input, call) =>
      (await (
        await request(route, input, { ...call, headers: { accept: "application/json", ...call?.headers } })
      ).json()) as RouteOutput<typeof route>,
    async upload(route, file, filename) {
      const form = new FormData();
      form.set("file", file, filename);
      return (await (await send(route, {}, { body: form })).json()) as UploadedFile;
    },
  };
}

function fillPath(route: Route, params: Record<string, unknown> = {}): string {
  return route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
}

function queryString(values: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) search.append(name, String(item));
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as { message?: unknown; code?: unknown; hint?: unknown };
    const code = String(body.code);
    const hint = isErrorHint(body.hint) ? body.hint : undefined;
    if (typeof body.message === "string" && code in errorCodes)
      return new ApiError(code as ErrorCode, body.message, { hint });
  } catch {
    // The body is not an error of this API; probably a proxy in front of the server answered.
  }
  const code = (Object.keys(errorCodes) as ErrorCode[]).find((c) => errorCodes[c].status === response.status);
  return new ApiError(code ?? "internal", `HTTP ${response.status} ${response.statusText}: ${text.slice(0, 200)}`);
}
