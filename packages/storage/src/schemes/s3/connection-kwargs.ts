/** Members of `config_kwargs` that concern connections, such as timeouts and proxies. */
import { dict, idle, ofPython, refused } from "../../configuration/options.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

export const connectionKwargs = {
  "config_kwargs.connect_timeout": {
    type: "number",
    default: 60,
    effect: "native",
    help: "Connect timeout in seconds.",
  },
  "config_kwargs.read_timeout": {
    type: "number",
    default: 60,
    effect: "native",
    help: "Maximum seconds to wait for the start of an answer, and for each next piece of it.",
  },
  "config_kwargs.max_pool_connections": {
    type: "integer",
    default: 64,
    minimum: 1,
    effect: "native",
    help: "Maximum number of connections to one host.",
  },
  "config_kwargs.tcp_keepalive": {
    type: "boolean",
    default: null,
    effect: "native",
    help: "Whether connections send TCP keep-alive probes while they are idle. If unset, connections for reading content send none; all others do.",
  },
  "config_kwargs.client_cert": {
    type: ["string", "list"],
    default: null,
    effect: "native",
    help: "Client certificate: one file that also holds the key, or a list of two files.",
  },
  "config_kwargs.proxies": {
    type: "dict",
    default: null,
    effect: "native",
    help: "Proxies by protocol (http, https) or by protocol and host (http://host); if unset, HTTP_PROXY, HTTPS_PROXY and NO_PROXY apply.",
  },
  "config_kwargs.proxies_config": dict("TLS options for proxies."),
  "config_kwargs.proxies_config.proxy_ca_bundle": {
    type: "string",
    default: null,
    effect: "native",
    help: "File with certificates to trust if the proxy itself uses TLS.",
  },
  "config_kwargs.proxies_config.proxy_client_cert": {
    type: ["string", "list"],
    default: null,
    effect: "native",
    help: "Client certificate for the proxy, in the form of client_cert.",
  },
  "config_kwargs.proxies_config.proxy_use_forwarding_for_https": refused(
    "TLS always passes through the proxy in a tunnel; with forwarding, the proxy could read everything",
    "Let the proxy make the TLS connection to the store.",
  ),
  "config_kwargs.connector_args": dict("Options of the connection pool."),
  "config_kwargs.connector_args.keepalive_timeout": {
    type: "number",
    default: 4,
    effect: "native",
    help: "Seconds that an idle connection is kept.",
  },
  "config_kwargs.connector_args.force_close": {
    type: "boolean",
    default: false,
    effect: "native",
    help: "Use a new connection for every request.",
  },
  "config_kwargs.connector_args.use_dns_cache": idle(
    "boolean",
    "the operating system resolves host names",
    "Cache resolved host names.",
  ),
  "config_kwargs.connector_args.ttl_dns_cache": idle(
    "number",
    "the operating system resolves host names",
    "Seconds that resolved host names are cached.",
  ),
  "config_kwargs.connector_args.write_timeout": refused(
    "this is an option of httpx, not of aiohttp; use config_kwargs.read_timeout",
    "Write timeout in seconds.",
  ),
  "config_kwargs.connector_args.pool_timeout": refused(
    "this is an option of httpx, not of aiohttp; here, requests wait for a connection without a timeout",
    "Maximum seconds to wait for a free connection of the pool.",
  ),
  "config_kwargs.connector_args.ssl_context": ofPython("TLS settings: use client_cert and client_kwargs.verify."),
  "config_kwargs.connector_args.resolver": ofPython("Host name resolver."),
  "config_kwargs.connector_args.socket_factory": ofPython("Socket factory."),
  "config_kwargs.http_session_cls": ofPython("HTTP session class."),
  "config_kwargs.warm_up_loader_caches": idle(
    "boolean",
    "no service descriptions are loaded from files",
    "Load service descriptions early.",
  ),
} as const satisfies ParameterTable;
