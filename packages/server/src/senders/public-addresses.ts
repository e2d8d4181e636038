/**
 * Checks whether webhooks may connect to an IP address. They may connect to public addresses, and to private ones that
 * the operator allows.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/** Networks that are not public, and IPv6 networks that embed or tunnel other addresses. */
const notPublic = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
  // Only 2000::/3 is public IPv6. These networks are inside it, but are not public or embed an IPv4 address.
  ...["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
];

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const refused = blockList(notPublic);
const global6 = blockList(["2000::/3"]);

/** Returns the address without a zone; an IPv4-mapped IPv6 address becomes the IPv4 address. */
function plainOf(address: string): string {
  const plain = address.replace(/%.*$/, "");
  if (!isIPv6(plain)) return plain;
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(new URL(`http://[${plain}]`).hostname);
  if (!mapped) return plain;
  const bytes = [mapped[1], mapped[2]].flatMap((group) => {
    const value = Number.parseInt(group ?? "", 16);
    return [value >> 8, value & 255];
  });
  return bytes.join(".");
}

/**
 * Returns a function that tells whether webhooks may connect to an address. `allowed` lists private networks that the
 * operator allows.
 */
export function addressCheck(allowed: readonly string[]): (address: string) => boolean {
  const named = blockList(allowed);
  return (address) => {
    const plain = plainOf(address);
    if (isIP(plain) === 0) return false;
    const family = isIPv4(plain) ? "ipv4" : "ipv6";
    if (named.check(plain, family)) return true;
    return !refused.check(plain, family) && (family === "ipv4" || global6.check(plain, family));
  };
}
