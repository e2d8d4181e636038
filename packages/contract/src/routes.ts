/**
 * A route as data: its input, its output and who may call it. The server, the client and OpenAPI read the same
 * definition.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { Access, Level, Role, ScopeName } from "./access.ts";
import type { ErrorCode } from "./errors.ts";

type Method = "GET" | "POST" | "PATCH" | "DELETE";

export interface Route {
  readonly id: string;
  readonly method: Method;
  /** Path below the root of the server, with `{name}` for path parameters. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access: Access;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
  /**
   * Maximum size of the JSON body in bytes, if not the default; `large` means the limit in the server's configuration.
   */
  readonly bodyLimit?: number | "large";
  /** Name of the rate limit that applies to the route; it is checked before the body is read. */
  readonly rateLimit?: "devices" | "strangers";
  /** Name of a query parameter whose values a GET also accepts in a JSON body. */
  readonly bodyInQuery?: string;
  /** True for a multipart upload with one part `file`, which is streamed. */
  readonly upload?: true;
  readonly response: TSchema;
  /** Additional content types of the response, with descriptions. */
  readonly alsoAnswers?: Readonly<Record<string, string>>;
  /** The only content type of the response, if not JSON. Errors are JSON, unless this is MessagePack. */
  readonly answersAs?: "text/plain" | "application/octet-stream" | "application/msgpack";
  /** True if handlers also get the body as text, which keeps all digits of integers beyond 2^53. */
  readonly keepsNumbers?: true;
  /** Headers of a successful response, with descriptions. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** True for an upgrade to a WebSocket; the typed client cannot call such a route. */
  readonly socket?: true;
  /** Error codes in addition to those of all routes of this kind. */
  readonly errors?: readonly ErrorCode[];
}

/** Default maximum size of a body in bytes, enough for names, choices and short texts. */
const usualBodyLimit = 64 * 1024;

/** Returns the maximum size of a body in bytes, on a server whose configured limit is `largest`. */
export const bodyLimitOf = ({ bodyLimit = usualBodyLimit }: Pick<Route, "bodyLimit">, largest: number): number =>
  bodyLimit === "large" ? largest : Math.min(bodyLimit, largest);

export const defineRoute = <const R extends Route>(route: R): R => route;

export const access = (scope: ScopeName, level: Level, role: Role): Access & { kind: "token" } => ({
  kind: "token",
  scope: `${scope}:${level}`,
  role,
});

type In<T> = T extends TSchema ? Static<T> : undefined;

/** Input of a call to this route, for the client and for handlers. */
export type RouteInput<R extends Route> = (R["params"] extends TObject ? { params: In<R["params"]> } : unknown) &
  (R["query"] extends TObject ? { query: In<R["query"]> } : unknown) &
  (R["body"] extends TSchema ? { body: In<R["body"]> } : unknown);

export type RouteOutput<R extends Route> = Static<R["response"]>;
