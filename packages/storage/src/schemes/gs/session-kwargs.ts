/**
 * Members of `session_kwargs`: every argument of aiohttp's ClientSession, and its connector's number of connections.
 */
import { idle, ofPython, refused } from "../../configuration/options.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

const ways = {
  "session_kwargs.base_url": refused("endpoint_url says where requests go", "Start of every address."),
  "session_kwargs.proxy": { type: "string", default: null, effect: "native", help: "URL of an HTTP proxy." },
  "session_kwargs.proxy_auth": {
    type: ["list", "dict"],
    default: null,
    effect: "native",
    secret: true,
    help: "What the proxy is told: [login, password], or { login, password }.",
  },
  "session_kwargs.trust_env": {
    type: "boolean",
    default: false,
    effect: "native",
    help: "Without a proxy, that of HTTP_PROXY and HTTPS_PROXY, except for the hosts of NO_PROXY.",
  },
  "session_kwargs.limit": {
    type: "integer",
    default: 64,
    minimum: 1,
    effect: "native",
    help: "Connections to one host: aiohttp has this option in its connector.",
  },
  "session_kwargs.connector": ofPython("Pool of connections: give limit."),
  "session_kwargs.connector_owner": refused("there is no connector to own", "Close the connector, too."),
  "session_kwargs.version": refused("HTTP/1.1 is spoken always", "Version of HTTP."),
} as const satisfies ParameterTable;

const words = {
  "session_kwargs.headers": {
    type: "dict",
    default: {},
    effect: "native",
    secret: true,
    help: "Headers of every request.",
  },
  "session_kwargs.cookies": {
    type: "dict",
    default: null,
    effect: "native",
    secret: true,
    help: "Cookies of every request; what a server sets is not kept.",
  },
  "session_kwargs.cookie_jar": ofPython("What keeps cookies: give cookies."),
  "session_kwargs.auth": {
    type: ["list", "dict"],
    default: null,
    effect: "native",
    secret: true,
    help: "Name and password of Basic authentication, [login, password] or { login, password }; a token goes before it.",
  },
  "session_kwargs.skip_auto_headers": idle(
    "list",
    "a request has no header that it does not need",
    "Headers to leave out.",
  ),
} as const satisfies ParameterTable;

const seconds = (help: string) => ({ type: "number", default: null, effect: "native", help }) as const;

const times = {
  "session_kwargs.timeout": {
    type: ["number", "dict"],
    default: 60,
    effect: "native",
    help: "Seconds to wait for a connection, for an answer, and between its pieces; or a dict with the members below.",
  },
  "session_kwargs.timeout.total": seconds("As the number."),
  "session_kwargs.timeout.connect": seconds("Seconds to wait for a connection."),
  "session_kwargs.timeout.sock_connect": seconds("The same, and goes before it."),
  "session_kwargs.timeout.sock_read": seconds("Seconds to wait for an answer, and between its pieces."),
  "session_kwargs.timeout.ceil_threshold": idle("number", "times are never rounded", "Seconds from which on to round."),
  "session_kwargs.read_timeout": seconds("As timeout.sock_read, which goes before it; deprecated there."),
  "session_kwargs.conn_timeout": seconds("As timeout.connect, which goes before it; deprecated there."),
  "session_kwargs.ssl_shutdown_timeout": idle("number", "connections are closed at once", "Seconds to say goodbye."),
} as const satisfies ParameterTable;

const answers = {
  "session_kwargs.raise_for_status": idle("boolean", "an answer that is an error always is one", "Raise errors."),
  "session_kwargs.auto_decompress": idle("boolean", "no compressed answers are asked for", "Unpack answers."),
  "session_kwargs.requote_redirect_url": idle("boolean", "no redirection is followed", "Encode addresses anew."),
  "session_kwargs.read_bufsize": idle("integer", "bytes go straight where they are wanted", "Bytes of a buffer."),
  "session_kwargs.max_line_size": idle("integer", "Node has its own bounds of an answer's head", "Longest line."),
  "session_kwargs.max_field_size": idle("integer", "Node has its own bounds of an answer's head", "Longest header."),
  "session_kwargs.max_headers": idle("integer", "Node has its own bounds of an answer's head", "Most headers."),
} as const satisfies ParameterTable;

const objects = {
  "session_kwargs.loop": ofPython("Event loop."),
  "session_kwargs.json_serialize": ofPython("What writes JSON."),
  "session_kwargs.json_serialize_bytes": ofPython("What writes JSON."),
  "session_kwargs.request_class": ofPython("Class of requests."),
  "session_kwargs.response_class": ofPython("Class of answers."),
  "session_kwargs.ws_response_class": ofPython("Class of WebSockets."),
  "session_kwargs.trace_configs": ofPython("What is told of every request."),
  "session_kwargs.fallback_charset_resolver": ofPython("What guesses encodings."),
  "session_kwargs.middlewares": ofPython("What changes requests."),
} as const satisfies ParameterTable;

export const sessionKwargs = { ...ways, ...words, ...times, ...answers, ...objects };
