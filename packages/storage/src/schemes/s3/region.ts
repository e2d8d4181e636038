/** Finds the region of a bucket: from the configuration, or from the store. */
import type { Configuration } from "../../configuration/configuration.ts";
import type { HttpClient } from "../../http/client.ts";
import { addressOf, endpointOf } from "./address.ts";
import type { parameters } from "./parameters.ts";
import { regionOfProfile } from "./shared-config.ts";

export const standardRegion = "us-east-1";

/**
 * Returns the configured region. If there is none, returns the standard region, or undefined if the store must be asked
 * for the region of the bucket.
 */
export async function knownRegion(
  configuration: Configuration<typeof parameters>,
  bucket: string,
): Promise<string | undefined> {
  const { values, environment } = configuration;
  const given =
    values["client_kwargs.region_name"] ??
    (await regionOfSession(values.session)) ??
    (await regionOfProfile(values["kwargs.profile"], environment));
  if (given !== undefined) return given;
  return values.cache_regions && endpointOf(configuration) === null && bucket !== "" ? undefined : standardRegion;
}

async function regionOfSession(session: object | null): Promise<string | undefined> {
  const region = (session as { config?: { region?: unknown } } | null)?.config?.region;
  // The function throws if the client has no region.
  return typeof region === "function" ? region().catch(() => undefined) : undefined;
}

/** Asks the store for the bucket's region. The answer contains the region even if its status is an error. */
export async function lookUpRegion(
  configuration: Configuration<typeof parameters>,
  bucket: string,
  http: HttpClient,
): Promise<string> {
  const address = addressOf(configuration, bucket, standardRegion);
  const request = { method: "HEAD", origin: address.origin, path: address.path("") || "/", headers: {} } as const;
  const answer = await http.send(request, { scheme: "s3", bucket });
  await answer.discard();
  return answer.header("x-amz-bucket-region") ?? standardRegion;
}
