/** The endpoint of requests. */

const standardEndpoint = "https://storage.googleapis.com";

/** The emulator variable often lacks a protocol: then it is http. */
export function endpointOf(given: string | null): string {
  if (given === null) return standardEndpoint;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  return url.replace(/\/+$/, "");
}

/** An endpoint without TLS is an emulator or similar: Google's own endpoints use https. */
export const isEmulator = (endpoint: string) => endpoint.startsWith("http:");
