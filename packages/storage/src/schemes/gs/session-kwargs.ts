/**
 * Members of `session_kwargs`: every argument of aiohttp's ClientSession, and the number of connections of its
 * connector.
 */
import { idle, ofPython, refused } from "../../configuration/options.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

const ways = {
  "session_kwargs.base_url": refused("use endpoint_url", "Base of every URL."),
  "session_kwargs.proxy": { type: "string", default: null, effect: "native", help: "URL of an HTTP proxy." },
  "session_kwargs.proxy_auth": {
    type: ["list", "dict"],
    default: null,
    effect: "native",
    secret: true,
    help: "Credentials for the proxy: [login, password], or { login, password }.",
  },
  "session_kwargs.trust_env": {
    type: "boolean",
    default: false,
    effect: "native",
    help: "If no proxy is set, use HTTP_PROXY and HTTPS_PROXY, except for the hosts in NO_PROXY.",
  },
  "session_kwargs.limit": {
    type: "integer",
    default: 64,
    minimum: 1,
    effect: "native",
    help: "Maximum number of connections to one host; in aiohttp, this is an option of the connector.",
  },
  "session_kwargs.connector": ofPython("Connection pool: use limit."),
  "session_kwargs.connector_owner": refused(
    "there is no aiohttp connector that could be closed",
    "Close the connector too.",
  ),
  "session_kwargs.version": refused("requests always use HTTP/1.1", "HTTP version."),
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
    help: "Cookies of every request; cookies that a server sets are ignored.",
  },
  "session_kwargs.cookie_jar": ofPython("Cookie jar: use cookies."),
  "session_kwargs.auth": {
    type: ["list", "dict"],
    default: null,
    effect: "native",
    secret: true,
    help: "Basic authentication: [login, password] or { login, password }; a token wins over it.",
  },
  "session_kwargs.skip_auto_headers": idle("list", "only necessary headers are sent", "Headers to leave out."),
} as const satisfies ParameterTable;

const seconds = (help: string) => ({ type: "number", default: null, effect: "native", help }) as const;

const times = {
  "session_kwargs.timeout": {
    type: ["number", "dict"],
    default: 60,
    effect: "native",
    help: "Maximum seconds to wait for a connection, for the start of an answer, and for each next piece of it; or a dict with the members below.",
  },
  "session_kwargs.timeout.total": seconds("The same as a plain number for timeout."),
  "session_kwargs.timeout.connect": seconds("Connect timeout in seconds."),
  "session_kwargs.timeout.sock_connect": seconds("The same as timeout.connect, and wins over it."),
  "session_kwargs.timeout.sock_read": seconds(
    "Maximum seconds to wait for the start of an answer, and for each next piece of it.",
  ),
  "session_kwargs.timeout.ceil_threshold": idle(
    "number",
    "timeouts are never rounded",
    "Timeouts of more than this many seconds are rounded up.",
  ),
  "session_kwargs.read_timeout": seconds("The same as timeout.sock_read, which wins over it; deprecated in aiohttp."),
  "session_kwargs.conn_timeout": seconds("The same as timeout.connect, which wins over it; deprecated in aiohttp."),
  "session_kwargs.ssl_shutdown_timeout": idle(
    "number",
    "connections are closed at once",
    "Timeout in seconds of the TLS shutdown.",
  ),
} as const satisfies ParameterTable;

const answers = {
  "session_kwargs.raise_for_status": idle(
    "boolean",
    "an error status always throws",
    "Raise an exception for error statuses.",
  ),
  "session_kwargs.auto_decompress": idle("boolean", "compressed answers are never requested", "Decompress answers."),
  "session_kwargs.requote_redirect_url": idle("boolean", "redirects are not followed", "Encode redirect URLs again."),
  "session_kwargs.read_bufsize": idle(
    "integer",
    "bytes are read straight into the caller's buffers",
    "Size of the read buffer.",
  ),
  "session_kwargs.max_line_size": idle("integer", "Node has its own limits for headers", "Maximum line length."),
  "session_kwargs.max_field_size": idle("integer", "Node has its own limits for headers", "Maximum header size."),
  "session_kwargs.max_headers": idle("integer", "Node has its own limits for headers", "Maximum number of headers."),
} as const satisfies ParameterTable;

const objects = {
  "session_kwargs.loop": ofPython("Event loop."),
  "session_kwargs.json_serialize": ofPython("JSON serializer."),
  "session_kwargs.json_serialize_bytes": ofPython("JSON serializer."),
  "session_kwargs.request_class": ofPython("Class of requests."),
  "session_kwargs.response_class": ofPython("Class of answers."),
  "session_kwargs.ws_response_class": ofPython("Class of WebSockets."),
  "session_kwargs.trace_configs": ofPython("Tracing hooks."),
  "session_kwargs.fallback_charset_resolver": ofPython("Charset detection."),
  "session_kwargs.middlewares": ofPython("Middlewares."),
} as const satisfies ParameterTable;

export const sessionKwargs = { ...ways, ...words, ...times, ...answers, ...objects };
