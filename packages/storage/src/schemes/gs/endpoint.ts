/** Where requests go. */

const standardEndpoint = "https://storage.googleapis.com";

/** The variable for emulators often has no protocol: theirs is http. */
export function endpointOf(given: string | null): string {
  if (given === null) return standardEndpoint;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  return url.replace(/\/+$/, "");
}

/** Without TLS it is an emulator, or something near: nothing of Google is reached so. */
export const isEmulator = (endpoint: string) => endpoint.startsWith("http:");
