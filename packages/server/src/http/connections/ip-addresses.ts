/** IP addresses as text: which network they lie in, and how the kernel's tables of connections write them. */
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";

/** Without a zone; an IPv4 address that is written as an IPv6 one is that address. */
const plainOf = (address: string) => address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");

/** The eight groups of an IPv6 address. */
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

/** Of an IPv6 address its first 64 bits, which is what one customer has. What is no address is told as it is. */
export function networkOf(address: string): string {
  const plain = plainOf(address);
  if (!isIPv6(plain)) return plain.slice(0, 64);
  const network = groupsOf(plain).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(":")}::/64`;
}

/** In hexadecimal, each 32 bits in the machine's order; an IPv4 address also as the IPv6 one that stands for it. */
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
