/** Determines the real address of a caller behind proxies. Only proxies that the operator configured are trusted. */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";

/**
 * Trusted proxies: a number of hops, or a list of addresses, networks and keywords for networks, such as `loopback`.
 */
type Trust = number | readonly string[];

const networks: Record<string, readonly string[]> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

const family = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");

/**
 * Returns a function that tells whether an address is a trusted proxy; `hop` is its distance from the server in hops.
 */
export function isTrusted(trust: Trust): (address: string, hop: number) => boolean {
  if (typeof trust === "number") return (_address, hop) => hop < trust;
  const list = new BlockList();
  for (const entry of trust.flatMap((name) => networks[name] ?? name)) {
    const [address = "", bits] = entry.split("/");
    if (bits === undefined) list.addAddress(address, family(address));
    else list.addSubnet(address, Number(bits), family(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, family(address));
}

/**
 * Returns the caller's address for a request that bypasses the framework, such as an upgrade. This is the first address
 * of the proxy chain that is not a trusted proxy.
 */
export function addressOf({ headers, socket }: IncomingMessage, trust: Trust): string {
  const trusts = isTrusted(trust);
  const told = [headers["x-forwarded-for"] ?? ""].flat().join(",").split(",");
  const chain = [
    socket.remoteAddress ?? "",
    ...told
      .map((address) => address.trim())
      .filter(Boolean)
      .reverse(),
  ];
  return chain.find((address, hop) => !trusts(address, hop)) ?? chain.at(-1) ?? "";
}
