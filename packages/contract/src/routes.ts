/** A route as data: what it takes, what it answers, who may call it. Server, client and OpenAPI read the same. */
import type { Static, TObject, TSchema } from "typebox";
import type { Access, Level, Role, ScopeName } from "./access.ts";
import type { ErrorCode } from "./errors.ts";

type Method = "GET" | "POST" | "PATCH" | "DELETE";

export interface Route {
  readonly id: string;
  readonly method: Method;
  /** With `{name}` for path parameters, below the server's root. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access: Access;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
  /** Bytes of a JSON body, where the usual limit does not fit; `large`: as many as the server's setting allows. */
  readonly bodyLimit?: number | "large";
  /** A budget of the caller's that each call takes from, before its body is read. */
  readonly rateLimit?: "devices" | "strangers";
  /** A GET whose JSON body, where one is sent, is this field of the query. */
  readonly bodyInQuery?: string;
  /** A multipart upload with one part `file`, streamed. */
  readonly upload?: true;
  readonly response: TSchema;
  /** Also answers with these content types, as described. */
  readonly alsoAnswers?: Readonly<Record<string, string>>;
  /** Answers with this and nothing else; refusals stay JSON, unless it is MessagePack. */
  readonly answersAs?: "text/plain" | "application/octet-stream" | "application/msgpack";
  /** Handlers see the body's text too: numbers beyond 2^53 are there in full. */
  readonly keepsNumbers?: true;
  /** Headers of a good answer, as described. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** An upgrade to a WebSocket: not called through the client. */
  readonly socket?: true;
  /** Refusals beyond those that any route of its kind can give. */
  readonly errors?: readonly ErrorCode[];
}

/** Enough for names, choices and short texts: all that most routes take. */
const usualBodyLimit = 64 * 1024;

/** Bytes that a body of this route may have on a server whose setting allows `largest`. */
export const bodyLimitOf = ({ bodyLimit = usualBodyLimit }: Pick<Route, "bodyLimit">, largest: number): number =>
  bodyLimit === "large" ? largest : Math.min(bodyLimit, largest);

export const defineRoute = <const R extends Route>(route: R): R => route;

export const access = (scope: ScopeName, level: Level, role: Role): Access & { kind: "token" } => ({
  kind: "token",
  scope: `${scope}:${level}`,
  role,
});

type In<T> = T extends TSchema ? Static<T> : undefined;

/** What a call of this route takes, for the client and for handlers. */
export type RouteInput<R extends Route> = (R["params"] extends TObject ? { params: In<R["params"]> } : unknown) &
  (R["query"] extends TObject ? { query: In<R["query"]> } : unknown) &
  (R["body"] extends TSchema ? { body: In<R["body"]> } : unknown);

export type RouteOutput<R extends Route> = Static<R["response"]>;
