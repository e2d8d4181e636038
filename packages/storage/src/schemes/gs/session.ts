/** The HTTP session that `session_kwargs` describes: its connections and default headers. */
import type { Configuration } from "../../configuration/configuration.ts";
import { StorageError } from "../../errors.ts";
import { headerTextRule, isHeaderText } from "../../http/header-text.ts";
import type { HttpSettings } from "../../http/messages.ts";
import { isProxy, proxiesOfEnvironment, urlOf } from "../../http/proxies.ts";
import type { parameters } from "./parameters.ts";

type GsConfiguration = Configuration<typeof parameters>;
type GsValues = GsConfiguration["values"];

export function sessionSettings({ values, environment }: GsConfiguration): HttpSettings {
  const proxy = values["session_kwargs.proxy"];
  const ofEnvironment = values["session_kwargs.trust_env"] ? proxiesOfEnvironment(environment) : undefined;
  return {
    connections: values["session_kwargs.limit"],
    ...timeouts(values),
    proxyFor: proxy === null ? ofEnvironment : () => urlOf(proxy),
    proxyAuthorization: basic(values, "session_kwargs.proxy_auth"),
  };
}

function timeouts(values: GsValues): Pick<HttpSettings, "connectTimeout" | "readTimeout"> {
  const { "session_kwargs.timeout": timeout, "session_kwargs.timeout.total": total } = values;
  const all = typeof timeout === "number" ? timeout : (total ?? 60);
  const { "session_kwargs.timeout.sock_connect": socket, "session_kwargs.timeout.connect": connection } = values;
  const { "session_kwargs.timeout.sock_read": pieces, "session_kwargs.read_timeout": reading } = values;
  return {
    connectTimeout: socket ?? connection ?? values["session_kwargs.conn_timeout"] ?? all,
    readTimeout: pieces ?? reading ?? all,
  };
}

/**
 * Returns the headers of every request. Their names are in lower case, so that a header of a single request replaces
 * the header of the same name.
 */
export function sessionHeaders(values: GsValues): Record<string, string> {
  const cookies = Object.entries(values["session_kwargs.cookies"] ?? {}).map(([name, value]) => `${name}=${value}`);
  const authorization = basic(values, "session_kwargs.auth");
  const given = Object.entries(values["session_kwargs.headers"]).map(([name, text]) => [
    name.toLowerCase(),
    String(text),
  ]);
  return {
    ...(cookies.length > 0 ? { cookie: cookies.join("; ") } : {}),
    ...(authorization === undefined ? {} : { authorization }),
    ...Object.fromEntries(given),
  };
}

const refuse = (message: string) => new StorageError("config", message, { scheme: "gs" });

export function checkSession(values: GsValues): void {
  const proxy = values["session_kwargs.proxy"];
  if (proxy !== null && !isProxy(proxy)) throw refuse("session_kwargs.proxy: expected the URL of an HTTP proxy");
  basic(values, "session_kwargs.proxy_auth");
  for (const [name, text] of Object.entries(sessionHeaders(values))) {
    if (!isHeaderText(text))
      throw refuse(`session_kwargs: the header ${name} cannot be sent, because ${headerTextRule}`);
  }
}

function basic(values: GsValues, parameter: "session_kwargs.auth" | "session_kwargs.proxy_auth"): string | undefined {
  const given = values[parameter];
  if (given === null) return undefined;
  const { login, password = "" } = Array.isArray(given) ? { login: given[0], password: given[1] } : (given as Login);
  if (typeof login !== "string" || typeof password !== "string") {
    throw refuse(`${parameter}: expected [login, password], or { login, password }`);
  }
  return `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
}

interface Login {
  readonly login?: unknown;
  readonly password?: unknown;
}
