/** Rules between the parameters of `gs://`, checked before anything is sent. */
import type { Location } from "../../address/uri.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { StorageError } from "../../errors.ts";
import { endpointOf } from "./endpoint.ts";
import type { parameters } from "./parameters.ts";
import { checkSession } from "./session.ts";

const refuse = (message: string) => new StorageError("config", message, { scheme: "gs" });

export const withoutProject = () => refuse("project is missing: it is required to list buckets");

export function checkConfiguration({ values, isGiven }: Configuration<typeof parameters>, { bucket }: Location): void {
  const { token, requester_pays, project } = values;
  if (bucket === "") checkProject(values);
  if (token === "cache" || token === "browser") {
    throw refuse(`token: "${token}" can be read only by Python; use a token file or google_default`);
  }
  if (requester_pays === true && token === "anon") {
    throw refuse("requester_pays: token is anon, so nobody can be billed; use another token");
  }
  // Default credentials contain a project.
  if (requester_pays === true && project === null && token !== "google_default") {
    throw refuse("requester_pays: project is missing; set it, or set requester_pays to the project to bill");
  }
  checkEndpoint(values.endpoint_url);
  checkSession(values);
  if (isGiven("secure_serialize")) {
    process.emitWarning("secure_serialize of gs:// is deprecated and has no effect", "DeprecationWarning");
  }
}

/**
 * Throws if buckets cannot be listed: that needs a project, which default credentials contain, and a token other than
 * anon.
 */
function checkProject({ token, project }: Configuration<typeof parameters>["values"]): void {
  if (token === "anon") {
    throw refuse("token: anon cannot list a project's buckets; name a bucket, or use another token");
  }
  if (project === null && token !== "google_default") throw withoutProject();
}

function checkEndpoint(given: string | null): void {
  const endpoint = endpointOf(given);
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw refuse("endpoint_url: expected protocol://host:port");
  }
  if (new URL(endpoint).pathname !== "/") throw refuse("endpoint_url: expected protocol://host:port without a path");
}
