/**
 * Names that the server answers to. A page of another site can make its own name point at this machine (DNS rebinding)
 * and so read from a server that only this machine reaches; its requests still carry that name in the Host header.
 */
import { isIP, isIPv4 } from "node:net";
import { ApiError } from "@millrace/contract";
import type { ListeningSettings } from "../../configuration/groups/listening.ts";

type Named = Pick<ListeningSettings, "host" | "publicUrl" | "allowedHosts">;

/** Throws where the Host header is none of ours. Without a header there is no browser, and nothing to check. */
export function hostCheck({ host, publicUrl, allowedHosts }: Named): (header: string | undefined) => void {
  // A server for other machines that was told none of its names cannot tell which are its own.
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
    // Nobody can make an address point elsewhere.
    if (ours.has(name) || name.endsWith(".localhost") || isIP(name) !== 0) return;
    throw new ApiError(
      "misdirected",
      "This server does not answer to the name in the Host header. Its operator can add the name to MILLRACE_ALLOWED_HOSTS.",
    );
  };
}

export function isLoopback(host: string): boolean {
  const name = withoutBrackets(host);
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Of an IPv6 address. */
const withoutBrackets = (name: string) => name.toLowerCase().replace(/^\[(.*)\]$/, "$1");

/** Without the port, and without the dot that ends a full name. */
const nameOf = (header: string) => withoutBrackets(header.replace(/:\d*$/, "")).replace(/\.$/, "");
