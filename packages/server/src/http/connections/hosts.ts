/**
 * Checks the Host header of requests. A page of another site can make its own name resolve to this machine (DNS
 * rebinding) and then read from a server on loopback, but its requests still carry that name in the Host header.
 */
import { isIP, isIPv4 } from "node:net";
import { ApiError } from "@millrace/contract";
import type { ListeningSettings } from "../../configuration/groups/listening.ts";

type Named = Pick<ListeningSettings, "host" | "publicUrl" | "allowedHosts">;

/**
 * Returns a function that throws if the name in the Host header is not one of the server's names. A request without a
 * Host header passes, because it does not come from a browser.
 */
export function hostCheck({ host, publicUrl, allowedHosts }: Named): (header: string | undefined) => void {
  // A server that is reachable from other machines and has no configured name cannot know its own names.
  if (!isLoopback(host) && !publicUrl && allowedHosts.length === 0) return () => undefined;
  const ours = new Set([
    host.toLowerCase(),
    "localhost",
    ...allowedHosts,
    ...(publicUrl ? [new URL(publicUrl).hostname] : []),
  ]);
  return (header) => {
    if (header === undefined) return;
    const name = nameOf(header);
    // IP addresses are safe: nobody can make one point elsewhere.
    if (ours.has(name) || name.endsWith(".localhost") || isIP(name) !== 0) return;
    throw new ApiError(
      "misdirected",
      `This server does not accept the name ${name} in the Host header. The operator can add the name to MILLRACE_ALLOWED_HOSTS.`,
    );
  };
}

export function isLoopback(host: string): boolean {
  const name = withoutBrackets(host);
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Removes the brackets around an IPv6 address. */
const withoutBrackets = (name: string) => name.toLowerCase().replace(/^\[(.*)\]$/, "$1");

/** Returns the host name without its port and trailing dot. */
const nameOf = (header: string) => withoutBrackets(header.replace(/:\d*$/, "")).replace(/\.$/, "");
