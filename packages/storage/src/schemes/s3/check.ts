/** Rules between the parameters of `s3://`, checked before anything is sent. */
import type { Configuration } from "../../configuration/configuration.ts";
import { suggest } from "../../configuration/suggestion.ts";
import { StorageError } from "../../errors.ts";
import { headerNames, headerTextRule, isHeaderText } from "../../http/header-text.ts";
import { callMembers, headersOfMembers } from "./call-members.ts";
import type { parameters } from "./parameters.ts";

const refuse = (message: string) => new StorageError("config", message, { scheme: "s3" });

export function checkConfiguration({ values, isGiven }: Configuration<typeof parameters>): void {
  for (const [name, value] of Object.entries(values.s3_additional_kwargs)) checkMember(name, value);
  if (!values.anon && isGiven("key") !== isGiven("secret") && typeof values.token !== "function") {
    throw refuse(`key and secret belong together: ${isGiven("key") ? "secret" : "key"} is missing`);
  }
  if (values.endpoint_url !== null) checkEndpoint(values.endpoint_url);
  if (values.session !== null) checkSession(values.session);
}

function checkMember(name: string, value: unknown): void {
  const [call] = callMembers[name]?.calls ?? [];
  if (call === undefined) {
    const hint = suggest(name, Object.keys(callMembers));
    throw refuse(`s3_additional_kwargs.${name} is a member of no call that is made${hint}`);
  }
  for (const [header, text] of Object.entries(headersOfMembers({ [name]: value }, call))) {
    if (headerNames.pattern.test(header) && isHeaderText(text)) continue;
    throw refuse(`s3_additional_kwargs.${name}: it is sent as ${JSON.stringify(header)}, and ${headerTextRule}`);
  }
}

function checkEndpoint(endpoint: string): void {
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    throw refuse("endpoint_url: expected a URL that begins with http:// or https://");
  }
}

function checkSession(session: object): void {
  if (typeof session === "function" || "config" in session) return;
  throw refuse("session: expected an S3 client of the vendor's package, or a function that returns credentials");
}
