/** Builds the User-Agent header. */
import type { Values } from "../../configuration/parameters.ts";
import type { parameters } from "./parameters.ts";

/**
 * Returns the User-Agent header, or undefined for the default. The header is added after a request is signed, because
 * proxies may change it.
 */
export function userAgent(values: Values<typeof parameters>): Record<string, string> | undefined {
  const { "config_kwargs.user_agent": whole, "config_kwargs.user_agent_extra": extra } = values;
  const app = values["config_kwargs.user_agent_appid"];
  if (whole === null && extra === null && app === null) return undefined;
  const named = app === null ? "" : ` app/${app.replace(/[^\w!#$%&'*+.^`|~-]/g, "-")}`;
  const text = (whole ?? `millrace-storage${named}`) + (extra === null ? "" : ` ${extra}`);
  return { "user-agent": text };
}
