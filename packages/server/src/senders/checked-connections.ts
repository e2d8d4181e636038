/**
 * Makes every connection of this process check the address first: names are resolved once, and only allowed addresses
 * are used, so that DNS rebinding and redirects have no effect. For a process that does nothing else.
 */
import dns, { type LookupAddress } from "node:dns";
import { isIP, Socket } from "node:net";

type IsAllowed = (address: string) => boolean;
type Found = (error: Error | null, addresses?: LookupAddress[] | string, family?: number) => void;

/** The options of a connection, as Node passes them inside. */
interface Place {
  readonly host?: string;
  readonly path?: string;
  readonly lookup?: unknown;
}

export function checkConnections(isAllowed: IsAllowed): void {
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket;
  const lookup = checkedLookup(isAllowed);
  const checked = function (this: Socket, ...args: unknown[]): Socket {
    const [first] = args;
    const place = (Array.isArray(first) ? first[0] : first) as Place;
    if (typeof place !== "object" || place.path != null) throw new Error("connections need a host and a port");
    const host = place.host ?? "localhost";
    if (isIP(host) !== 0 && !isAllowed(host)) throw refusal(host);
    if (Array.isArray(first)) first[0] = { ...place, host, lookup };
    else args[0] = { ...place, host, lookup };
    return connect.apply(this, args);
  };
  Socket.prototype.connect = checked as Socket["connect"];
}

const refusal = (name: string) =>
  new Error(
    `${name} is a private address, and the storage browser reaches public addresses only. The operator can allow private addresses with MILLRACE_STORAGE_NETWORKS.`,
  );

/** Resolves a name and keeps the allowed addresses. */
const checkedLookup =
  (isAllowed: IsAllowed) =>
  (name: string, options: { readonly all?: boolean; readonly family?: number }, found: Found): void => {
    const family = options.family === 4 || options.family === 6 ? options.family : 0;
    dns.lookup(name, { all: true, family }, (error, addresses) => {
      if (error) return found(error);
      const allowed = addresses.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (!first) return found(refusal(name));
      if (options.all) return found(null, allowed);
      found(null, first.address, first.family);
    });
  };
