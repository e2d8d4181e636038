/** Derives connections, proxies, user agent and number of attempts from `config_kwargs` and `client_kwargs`. */

import { defaultRetryPolicy, type RetryPolicy } from "../../concurrency/retry.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { readCertificates, readIdentity } from "../../http/certificates.ts";
import type { HttpSettings } from "../../http/messages.ts";
import { proxiesByName, proxiesOfEnvironment } from "../../http/proxies.ts";
import type { parameters } from "./parameters.ts";
import { userAgent } from "./user-agent.ts";

type S3Configuration = Configuration<typeof parameters>;

const verifiedBy = "client_kwargs.verify";
const bundle = "config_kwargs.proxies_config.proxy_ca_bundle";

export function transportOf({ values, environment }: S3Configuration): HttpSettings {
  const verify = values[verifiedBy];
  const proxies = values["config_kwargs.proxies"];
  return {
    connections: values["config_kwargs.max_pool_connections"],
    connectTimeout: values["config_kwargs.connect_timeout"],
    readTimeout: values["config_kwargs.read_timeout"],
    verify: verify !== false,
    authorities: typeof verify === "string" ? readCertificates(verify, "s3", verifiedBy) : undefined,
    verifiedBy,
    identity: readIdentity(values["config_kwargs.client_cert"], "s3", "config_kwargs.client_cert"),
    keepsAlive: values["config_kwargs.tcp_keepalive"] ?? undefined,
    idleTimeout: values["config_kwargs.connector_args.force_close"]
      ? 0
      : values["config_kwargs.connector_args.keepalive_timeout"],
    headers: userAgent(values),
    proxyFor: proxies === null ? proxiesOfEnvironment(environment) : proxiesByName(proxies),
    proxyTls: proxyTls(values),
  };
}

function proxyTls(values: S3Configuration["values"]): NonNullable<HttpSettings["proxyTls"]> {
  const client = "config_kwargs.proxies_config.proxy_client_cert";
  const authorities = values[bundle] === null ? undefined : readCertificates(values[bundle], "s3", bundle);
  return { authorities, identity: readIdentity(values[client], "s3", client) };
}

export const retryPolicyOf = (configuration: S3Configuration): RetryPolicy => ({
  ...defaultRetryPolicy,
  attempts: attemptsOf(configuration),
});

/** Returns the maximum number of attempts. A number in client_config wins over the environment. */
function attemptsOf({ values, sourceOf }: S3Configuration): number {
  const total = "config_kwargs.retries.total_max_attempts";
  const { [total]: all, "config_kwargs.retries.max_attempts": again } = values;
  if (again !== null && !sourceOf(total).startsWith("client_config")) return again + 1;
  if (all !== null) return all;
  return values["config_kwargs.retries.mode"] === "legacy" ? defaultRetryPolicy.attempts : 3;
}
