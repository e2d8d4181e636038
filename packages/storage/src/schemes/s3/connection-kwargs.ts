/** Members of `config_kwargs` for connections. */
import { dict, idle, ofPython, refused } from "../../configuration/options.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

export const connectionKwargs = {
  "config_kwargs.connect_timeout": {
    type: "number",
    default: 60,
    effect: "native",
    help: "Seconds to wait for a connection.",
  },
  "config_kwargs.read_timeout": {
    type: "number",
    default: 60,
    effect: "native",
    help: "Seconds to wait for an answer, and between its pieces.",
  },
  "config_kwargs.max_pool_connections": {
    type: "integer",
    default: 64,
    minimum: 1,
    effect: "native",
    help: "Connections to one host.",
  },
  "config_kwargs.tcp_keepalive": {
    type: "boolean",
    default: null,
    effect: "native",
    help: "Whether idle connections are kept up by probes; unset: those that are not for reading content.",
  },
  "config_kwargs.client_cert": {
    type: ["string", "list"],
    default: null,
    effect: "native",
    help: "Certificate that is shown to the store: a file that also holds the key, or the two files.",
  },
  "config_kwargs.proxies": {
    type: "dict",
    default: null,
    effect: "native",
    help: "Proxies by protocol, http and https, or by protocol and host, http://host; unset: HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment say.",
  },
  "config_kwargs.proxies_config": dict("How proxies are spoken to."),
  "config_kwargs.proxies_config.proxy_ca_bundle": {
    type: "string",
    default: null,
    effect: "native",
    help: "File with certificates to trust when the proxy itself speaks TLS.",
  },
  "config_kwargs.proxies_config.proxy_client_cert": {
    type: ["string", "list"],
    default: null,
    effect: "native",
    help: "Certificate that is shown to the proxy, as client_cert.",
  },
  "config_kwargs.proxies_config.proxy_use_forwarding_for_https": refused(
    "TLS always goes through the proxy untouched, in a tunnel: forwarded, the proxy would read it all",
    "Let the proxy speak TLS to the store.",
  ),
  "config_kwargs.connector_args": dict("How connections are kept."),
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
    help: "A connection for every request.",
  },
  "config_kwargs.connector_args.use_dns_cache": idle(
    "boolean",
    "the system looks up names",
    "Keep addresses of names.",
  ),
  "config_kwargs.connector_args.ttl_dns_cache": idle("number", "the system looks up names", "Seconds to keep them."),
  "config_kwargs.connector_args.write_timeout": refused(
    "it belongs to another HTTP client of Python; read_timeout ends a wait",
    "Seconds to wait for a write.",
  ),
  "config_kwargs.connector_args.pool_timeout": refused(
    "it belongs to another HTTP client of Python; a request waits its turn",
    "Seconds to wait for a connection of the pool.",
  ),
  "config_kwargs.connector_args.ssl_context": ofPython("TLS settings: give client_cert, and client_kwargs.verify."),
  "config_kwargs.connector_args.resolver": ofPython("What looks up names."),
  "config_kwargs.connector_args.socket_factory": ofPython("What makes sockets."),
  "config_kwargs.http_session_cls": ofPython("HTTP client."),
  "config_kwargs.warm_up_loader_caches": idle("boolean", "nothing is loaded from files", "Load descriptions early."),
} as const satisfies ParameterTable;
