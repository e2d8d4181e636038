/**
 * The type of a route: its input, its output, and who may call it. The server, the client and the OpenAPI document use
 * the same definitions.
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
   * Maximum size of the JSON body in bytes, if not the default. `large` stands for the limit that the server's
   * configuration sets.
   */
  readonly bodyLimit?: number | "large";
  /** Name of the rate limit of the route. It is checked before the body is read. */
  readonly rateLimit?: "devices" | "strangers";
  /**
   * Name of a query parameter. If a GET request has a JSON body, the values in the body are added to this parameter.
   */
  readonly bodyInQuery?: string;
  /** True if the body is a multipart upload with a single part `file`. The upload is streamed. */
  readonly upload?: true;
  /** True if the body is bytes (application/octet-stream) of at most `bodyLimit`. */
  readonly bytes?: true;
  /** True if a body of bytes is streamed to storage, so that it does not occupy memory. */
  readonly streamed?: true;
  readonly response: TSchema;
  /** Further content types that the response may have, with their descriptions. */
  readonly alsoAnswers?: Readonly<Record<string, string>>;
  /**
   * Content type of the response, if not JSON. If it is MessagePack, errors are MessagePack, too; otherwise errors are
   * JSON.
   */
  readonly answersAs?: "text/plain" | "text/event-stream" | "application/octet-stream" | "application/msgpack";
  /** True if the handler also gets the body as text, in which integers beyond 2^53 keep all their digits. */
  readonly keepsNumbers?: true;
  /** Headers of a successful response, with descriptions. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** True if the route is an upgrade to a WebSocket. The typed client cannot call such a route. */
  readonly socket?: true;
  /** Error codes of this route, in addition to those that follow from its method, access and input. */
  readonly errors?: readonly ErrorCode[];
}

/** Default maximum size of a body in bytes. It is enough for names, choices and short texts. */
const usualBodyLimit = 64 * 1024;

/** Returns the maximum size of a route's body in bytes. `largest` is the limit in the server's configuration. */
export const bodyLimitOf = ({ bodyLimit = usualBodyLimit }: Pick<Route, "bodyLimit">, largest: number): number =>
  bodyLimit === "large" ? largest : Math.min(bodyLimit, largest);

export const defineRoute = <const R extends Route>(route: R): R => route;

export const access = (scope: ScopeName, level: Level, role: Role): Access & { kind: "token" } => ({
  kind: "token",
  scope: `${scope}:${level}`,
  role,
});

type In<T> = T extends TSchema ? Static<T> : undefined;

/** Type of the input of a call to this route. The client and the handlers use it. */
export type RouteInput<R extends Route> = (R["params"] extends TObject ? { params: In<R["params"]> } : unknown) &
  (R["query"] extends TObject ? { query: In<R["query"]> } : unknown) &
  (R["body"] extends TSchema ? { body: In<R["body"]> } : unknown);

export type RouteOutput<R extends Route> = Static<R["response"]>;
