/** Checks parameters of `s3://` that depend on each other, before anything is sent. */
import type { Configuration } from "../../configuration/configuration.ts";
import { suggest } from "../../configuration/suggestion.ts";
import { StorageError } from "../../errors.ts";
import { headerNames, headerTextRule, isHeaderText } from "../../http/header-text.ts";
import { isProxy } from "../../http/proxies.ts";
import { endpointOf } from "./address.ts";
import { callMembers, headersOfMembers } from "./call-members.ts";
import type { parameters } from "./parameters.ts";
import { userAgent } from "./user-agent.ts";

const refuse = (message: string) => new StorageError("config", message, { scheme: "s3" });

export function checkConfiguration(configuration: Configuration<typeof parameters>): void {
  const { values, isGiven } = configuration;
  for (const [name, value] of Object.entries(values.s3_additional_kwargs)) checkMember(name, value);
  if (!values.anon && isGiven("key") !== isGiven("secret") && typeof values.token !== "function") {
    throw refuse(`key and secret belong together: ${isGiven("key") ? "secret" : "key"} is missing`);
  }
  if (values.endpoint_url !== null) checkEndpoint(values.endpoint_url);
  if (values.session !== null) checkSession(values.session);
  checkVariants(configuration);
  checkTransport(values);
}

/**
 * Throws if an endpoint variant (dual-stack, FIPS, acceleration) is combined with a configured endpoint. Variants exist
 * only for the standard endpoint.
 */
function checkVariants(configuration: Configuration<typeof parameters>): void {
  const { values } = configuration;
  const variants = [
    "config_kwargs.use_dualstack_endpoint",
    "config_kwargs.use_fips_endpoint",
    "config_kwargs.s3.use_accelerate_endpoint",
  ] as const;
  const [variant] = variants.filter((name) => values[name]);
  if (variant && endpointOf(configuration) !== null) {
    throw refuse(
      `${variant}: this option works only with the standard endpoint, but endpoint_url sets another one; remove one of the two`,
    );
  }
  if (values[variants[1]] && values[variants[2]])
    throw refuse(`${variants[2]} cannot be combined with ${variants[1]}; remove one of the two`);
}

function checkTransport(values: Configuration<typeof parameters>["values"]): void {
  for (const [name, proxy] of Object.entries(values["config_kwargs.proxies"] ?? {})) {
    if (isProxy(proxy)) continue;
    throw refuse(`config_kwargs.proxies.${name}: expected the URL of an HTTP proxy, or its host and port`);
  }
  const agent = userAgent(values)?.["user-agent"] ?? "";
  if (!isHeaderText(agent))
    throw refuse(`config_kwargs.user_agent: this text cannot be sent, because ${headerTextRule}`);
}

function checkMember(name: string, value: unknown): void {
  const [call] = callMembers[name]?.calls ?? [];
  if (call === undefined) {
    const hint = suggest(name, Object.keys(callMembers));
    throw refuse(`s3_additional_kwargs.${name} is not an argument of any S3 call that this library makes${hint}`);
  }
  for (const [header, text] of Object.entries(headersOfMembers({ [name]: value }, call))) {
    if (headerNames.pattern.test(header) && isHeaderText(text)) continue;
    throw refuse(
      `s3_additional_kwargs.${name}: the value would be sent in the header ${JSON.stringify(header)}, but ${headerTextRule}`,
    );
  }
}

function checkEndpoint(endpoint: string): void {
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    throw refuse("endpoint_url: expected a URL that begins with http:// or https://");
  }
}

function checkSession(session: object): void {
  if (typeof session === "function" || "config" in session) return;
  throw refuse("session: expected an S3 client of the AWS SDK, or a function that returns credentials");
}
