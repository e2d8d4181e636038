/** Converts IP addresses: to their network, and to the form of the kernel's connection tables. */
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";

/** Removes the zone of an IPv6 address, such as %eth0, and turns an IPv4-mapped IPv6 address into the IPv4 address. */
const plainOf = (address: string) => address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");

/** Returns the eight 16-bit groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const split = (text: string) => text.split(":").filter(Boolean);
  const [before, after] = [split(head), split(tail ?? "")];
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
}

export function isLoopback(address: string): boolean {
  const plain = plainOf(address);
  return plain === "::1" || (isIPv4(plain) && plain.startsWith("127."));
}

/**
 * Returns the network of an address: the /64 network for IPv6, which usually belongs to one customer, or the IPv4
 * address itself. Text that is no address is returned as it is.
 */
export function networkOf(address: string): string {
  const plain = plainOf(address);
  if (!isIPv6(plain)) return plain.slice(0, 64);
  const network = groupsOf(plain).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(":")}::/64`;
}

/**
 * Returns the address in the hexadecimal form of /proc/net/tcp, each 32 bits in the machine's byte order. For an IPv4
 * address, also returns its IPv4-mapped IPv6 form.
 */
export function kernelForms(address: string): string[] {
  const plain = plainOf(address);
  if (isIPv4(plain)) {
    const bytes = plain.split(".").map(Number);
    return [words(bytes), words([...Array<number>(10).fill(0), 255, 255, ...bytes])];
  }
  return isIPv6(plain) ? [words(groupsOf(plain).flatMap((group) => [group >> 8, group & 255]))] : [];
}

function words(bytes: readonly number[]): string {
  const text = (word: readonly number[]) =>
    Buffer.from(endianness() === "LE" ? word.toReversed() : word).toString("hex");
  return Array.from({ length: bytes.length / 4 }, (_, index) => text(bytes.slice(index * 4, index * 4 + 4)))
    .join("")
    .toUpperCase();
}
