/** Rules between the parameters of `s3://`, checked before anything is sent. */
import type { Configuration } from "../../configuration.ts";
import { StorageError } from "../../errors.ts";
import { suggest } from "../../suggestion.ts";
import { callMembers } from "./call-members.ts";
import type { parameters } from "./parameters.ts";

const refuse = (message: string) => new StorageError("config", message, { scheme: "s3" });

export function checkConfiguration({ values, isGiven }: Configuration<typeof parameters>): void {
  for (const name of Object.keys(values.s3_additional_kwargs)) {
    if (callMembers[name]) continue;
    const hint = suggest(name, Object.keys(callMembers));
    throw refuse(`s3_additional_kwargs.${name} is a member of no call that is made${hint}`);
  }
  if (!values.anon && isGiven("key") !== isGiven("secret") && typeof values.token !== "function") {
    throw refuse(`key and secret belong together: ${isGiven("key") ? "secret" : "key"} is missing`);
  }
  if (values.endpoint_url !== null) checkEndpoint(values.endpoint_url);
  if (values.session !== null) checkSession(values.session);
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
