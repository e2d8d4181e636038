/** A real DNS server over UDP, which answers as the test says. */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";

/**
 * Returns the addresses of a name; undefined if the server does not answer. A name without addresses does not exist.
 */
type Answer = (name: string) => readonly string[] | undefined;

const types = { a: 1, aaaa: 28 } as const;

export class NameServer {
  answer: Answer = () => [];
  /** Queried names with their type: `a hook.example`. */
  readonly asked: string[] = [];
  readonly #socket: Socket = createSocket("udp4");

  static async start(host: string, port: number): Promise<NameServer> {
    const server = new NameServer();
    server.#socket.on("message", (query, { address, port: to }) => {
      const reply = server.#reply(query);
      if (reply) server.#socket.send(reply, to, address);
    });
    server.#socket.bind(port, host);
    await once(server.#socket, "listening");
    return server;
  }

  /** Builds the answer: header and question as they came, then the addresses of that type, with a lifetime of 0. */
  #reply(query: Buffer): Buffer | undefined {
    const { name, end } = readName(query);
    const type = query.readUInt16BE(end);
    this.asked.push(`${type === types.a ? "a" : "aaaa"} ${name}`);
    const addresses = this.answer(name);
    if (addresses === undefined) return undefined;
    const wanted = addresses.filter((address) => (isIPv4(address) ? types.a : types.aaaa) === type);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(wanted.length, 6);
    header.fill(0, 8);
    return Buffer.concat([header, query.subarray(12, end + 4), ...wanted.map(record)]);
  }

  async stop(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, "close");
  }
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

/** The name of the question, class IN, with a lifetime of 0 seconds. */
function record(address: string): Buffer {
  const bytes = isIPv4(address) ? address.split(".").map(Number) : bytesOfIPv6(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(isIPv4(address) ? types.a : types.aaaa, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, Buffer.from(bytes)]);
}

function bytesOfIPv6(address: string): number[] {
  // As the platform writes it: completely in hexadecimal.
  const [before = "", after = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string) =>
    text.split(":").flatMap((group) => (group === "" ? [] : [Number.parseInt(group, 16)]));
  const [first, last] = [groups(before), groups(after)];
  const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
  return all.flatMap((group) => [group >> 8, group & 255]);
}
