/** Checks parameters of `gs://` that depend on each other, before anything is sent. */
import type { Location } from "../../address/uri.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { StorageError } from "../../errors.ts";
import { endpointOf } from "./endpoint.ts";
import type { parameters } from "./parameters.ts";
import { checkSession } from "./session.ts";

const refuse = (message: string) => new StorageError("config", message, { scheme: "gs" });

export const withoutProject = () =>
  refuse("project is missing: it is required to list buckets; set project, or name a bucket");

export function checkConfiguration({ values, isGiven }: Configuration<typeof parameters>, { bucket }: Location): void {
  const { token, requester_pays, project } = values;
  if (bucket === "") checkProject(values);
  if (token === "cache" || token === "browser") {
    throw refuse(`token: "${token}" works only in Python; use the path of a token file, or "google_default"`);
  }
  if (requester_pays === true && token === "anon") {
    throw refuse("requester_pays: token is anon, so nobody can be billed; use another token");
  }
  // google_default needs no project here, because default credentials contain one.
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
 * Throws if the configuration cannot list buckets. A listing of buckets needs a token other than `anon`, and a project.
 * With the token `google_default`, the project may come from the default credentials.
 */
function checkProject({ token, project }: Configuration<typeof parameters>["values"]): void {
  if (token === "anon") {
    throw refuse("token: anonymous access (anon) cannot list buckets; name a bucket, or use another token");
  }
  if (project === null && token !== "google_default") throw withoutProject();
}

function checkEndpoint(given: string | null): void {
  const endpoint = endpointOf(given);
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw refuse("endpoint_url: expected http://host:port or https://host:port");
  }
  if (new URL(endpoint).pathname !== "/")
    throw refuse("endpoint_url: expected http://host:port or https://host:port, without a path");
}
