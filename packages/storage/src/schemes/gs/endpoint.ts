/** Determines the endpoint that requests are sent to: the configured one, or Google's. */

const standardEndpoint = "https://storage.googleapis.com";

/**
 * Returns the endpoint's URL without a trailing slash. If the given text has no protocol, which STORAGE_EMULATOR_HOST
 * allows, adds http.
 */
export function endpointOf(given: string | null): string {
  if (given === null) return standardEndpoint;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  return url.replace(/\/+$/, "");
}

/**
 * Whether the endpoint is an emulator. Every endpoint without TLS counts as one, because Google's own endpoints use
 * https.
 */
export const isEmulator = (endpoint: string) => endpoint.startsWith("http:");
