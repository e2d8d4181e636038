/**
 * Which user's process calls from this machine, according to the kernel's tables, which any process here can make long.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { after, before, describe, it } from "node:test";
import { PeerLookup } from "../../src/http/connections/peer-lookup.ts";
import { PeerUsers } from "../../src/http/connections/peer-users.ts";

const skip = existsSync("/proc/net/tcp") ? false : "needs the tables of Linux";

/** A connection to a link-local address of this machine; undefined if it has none. */
async function linkLocalConnection() {
  const found = Object.entries(networkInterfaces()).flatMap(([zone, addresses = []]) =>
    addresses.filter(({ address }) => address.startsWith("fe80:")).map(({ address }) => `${address}%${zone}`),
  );
  if (found[0] === undefined) return undefined;
  const server = createServer().listen(0, "::");
  await once(server, "listening");
  const connected = once(server, "connection") as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, found[0]);
  const [accepted] = await connected;
  return { accepted, close: () => void [client.destroy(), server.close()] };
}

describe("the user of a caller on this machine", { skip }, () => {
  const self = process.getuid?.();
  let server: Server;
  let port: number;
  const clients: Socket[] = [];
  before(async () => {
    server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
  });
  after(() => {
    for (const client of clients) client.destroy();
    server.close();
  });

  /** Returns the server's end of a new connection. */
  async function accept(): Promise<Socket> {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    clients.push(connect(port, "127.0.0.1"));
    return (await accepted)[0];
  }
  const hex = (number: number) => number.toString(16).toUpperCase().padStart(4, "0");
  const line = (from: string, to: string, state: string, user: number) =>
    `   1: ${from} ${to} ${state} 00000000:00000000 00:00000000 00000000 ${user}        0 0 1 0 20 4 30 10 -1\n`;

  /** The real tables, with additional lines before them. */
  const lengthened = (more: (path: string) => string) =>
    new PeerUsers(async (path) => Buffer.concat([Buffer.from(more(path)), await readFile(path)]));

  it("is found by comparing one line, however many closed connections the table has", async () => {
    const closed = Array.from({ length: 60_000 }, (_, i) =>
      line(`0100007F:${hex(i)}`, `0100007F:${hex(port)}`, "06", 61_003),
    ).join("");
    const users = lengthened((path) => (path.endsWith("tcp") ? closed : ""));
    const socket = await accept();
    const standing = clients.length;
    assert.equal(await users.of(socket), self);
    assert.ok(users.linesCompared <= standing, `${users.linesCompared} lines were compared`);
  });

  it("is not that of a process with the same port at another address", async () => {
    const socket = await accept();
    const from = `0100007F:${hex(socket.remotePort ?? 0)}`;
    const users = lengthened(() => line(from, `0200007F:${hex(port)}`, "01", 61_003));
    assert.equal(await users.of(socket), self);
  });

  it("is looked up for all waiting requests by one read that starts after them", async () => {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const users = new PeerUsers(async (path) => {
      reads++;
      const table = await readFile(path);
      begun.resolve();
      await gate.promise;
      return table;
    });
    const answers = [users.of(await accept())];
    await begun.promise;
    // These are not in the table that was read for the first.
    for (let i = 0; i < 50; i++) answers.push(users.of(await accept()));
    gate.resolve();
    assert.deepEqual(new Set(await Promise.all(answers)), new Set([self]));
    assert.equal(reads, 4, "two of each table");
  });

  it("is told in the order of the requests, whatever the order of the table", async () => {
    const accepted = [await accept(), await accept(), await accept()];
    const lineOf = ({ remotePort = 0 }: Socket, user: number) =>
      line(`0100007F:${hex(remotePort)}`, `0100007F:${hex(port)}`, "01", user);
    const reversed = accepted.map((socket, index) => lineOf(socket, 61_000 + index)).reverse();
    const users = new PeerUsers(async (path) => (path.endsWith("tcp") ? Buffer.from(reversed.join("")) : undefined));
    const told: unknown[] = [];
    await Promise.all(accepted.map(async (socket) => told.push(await users.of(socket))));
    assert.deepEqual(told, [61_000, 61_001, 61_002]);
  });

  /** The real tables, so long that they may be read once in a second. */
  const long = async (path: string) =>
    path.endsWith("tcp") ? Buffer.concat([Buffer.alloc(8 * 1024 ** 2, " \n"), await readFile(path)]) : undefined;

  it("is asked of the kernel while the tables are long: nobody waits for them again", async () => {
    const begun = Promise.withResolvers<void>();
    let reads = 0;
    const read = (path: string) => {
      reads++;
      begun.resolve();
      return long(path);
    };
    const users = new PeerUsers(read, () => new Promise(() => {}));
    const first = users.of(await accept());
    await begun.promise;
    const meanwhile = users.of(await accept());
    assert.deepEqual([await first, await meanwhile], [self, self]);
    const gone = await accept();
    clients.at(-1)?.destroy();
    await once(gone.resume(), "close");
    assert.deepEqual([await users.of(await accept()), await users.of(gone)], [self, "gone"]);
    assert.equal(reads, 2, "one of each table");
  });

  it("is asked of the kernel for every form of an address", async () => {
    const both = createServer().listen(0, "::");
    await once(both, "listening");
    const { port } = both.address() as AddressInfo;
    const lookup = new PeerLookup(() => {});
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      const accepted = once(both, "connection") as Promise<[Socket]>;
      const client = connect(port, address);
      assert.equal(await lookup.of((await accepted)[0]), self, address);
      client.destroy();
    }
    both.close();
  });

  it("is asked of the kernel for a link-local address, too, and what cannot be asked harms no other lookup", async () => {
    const ends = await linkLocalConnection();
    let hasEnded = false;
    const lookup = new PeerLookup(() => {
      hasEnded = true;
    });
    const odd = { remoteAddress: "fe80::1%nowhere", remotePort: 1, localAddress: "no address", localPort: 2 } as Socket;
    assert.equal(await lookup.of(odd), "gone");
    const accepted = ends?.accepted;
    if (accepted) assert.equal(await lookup.of(accepted), self);
    assert.equal(hasEnded, false);
    ends?.close();
  });

  it("is looked up in the tables if the kernel cannot be asked", async () => {
    const silent = async () => {
      throw new Error("no Python");
    };
    const users = new PeerUsers(
      long,
      async () => {},
      () => ({ of: silent }),
    );
    for (let i = 0; i < 3; i++) assert.equal(await users.of(await accept()), self);
  });

  it("is looked up at a rate of 8 MiB of tables per second: after a longer read comes a longer pause", async () => {
    const rests: { milliseconds: number; end: () => void }[] = [];
    const rest = (milliseconds: number) => new Promise<void>((end) => rests.push({ milliseconds, end }));
    let reads = 0;
    const noLookup = () => ({ of: () => Promise.reject(new Error("no Python")) });
    const read = (path: string) => {
      reads++;
      return long(path);
    };
    const users = new PeerUsers(read, rest, noLookup);
    assert.equal(await users.of(await accept()), self);
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(users.of(await accept()));
    assert.equal(reads, 2, "one of each table");
    assert.ok((rests[0]?.milliseconds ?? 0) >= 1000);
    rests[0]?.end();
    assert.deepEqual(await Promise.all(answers), [self, self, self]);
    assert.equal(reads, 4, "another for all three");
    rests[1]?.end();
  });

  it("is unknown if the other end of the connection is closed, or if there are no tables", async () => {
    const socket = await accept();
    clients.at(-1)?.destroy();
    await once(socket.resume(), "close");
    assert.equal(await new PeerUsers().of(socket), "gone");
    assert.equal(await new PeerUsers(async () => undefined).of(await accept()), undefined);
  });
});
