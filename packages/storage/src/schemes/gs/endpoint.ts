/** Determines the endpoint that requests are sent to: the configured one, or Google's. */

const standardEndpoint = "https://storage.googleapis.com";

/** Returns a URL without a trailing slash. An endpoint without a protocol, as in the emulator variable, gets http. */
export function endpointOf(given: string | null): string {
  if (given === null) return standardEndpoint;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  return url.replace(/\/+$/, "");
}

/**
 * Whether the endpoint is an emulator or similar. Such an endpoint has no TLS, while Google's own endpoints use https.
 */
export const isEmulator = (endpoint: string) => endpoint.startsWith("http:");
