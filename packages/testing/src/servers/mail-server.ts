/** A real SMTP server that records accepted e-mails. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { closedAtEnd } from "./left-open.ts";

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly from: string;
  /** Headers and text as received. */
  readonly message: string;
}

export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** Returns the SMTP code with which the server refuses an address; undefined to accept the address. */
  refuse: (address: string) => number | undefined = () => undefined;
  /** Returns true to report a failure after an e-mail was recorded, like a server that crashes. */
  denies: () => boolean = () => false;
  readonly #server: SMTPServer;

  static async start(port = 0): Promise<MailServer> {
    const server = new MailServer();
    server.#server.listen(port, "127.0.0.1");
    await once(server.#server.server, "listening");
    return server;
  }

  private constructor() {
    this.#server = new SMTPServer({
      authMethods: ["PLAIN"],
      disabledCommands: ["STARTTLS"],
      allowInsecureAuth: true,
      disableReverseLookup: true,
      onAuth: ({ username, password }, _session, done) =>
        username === "millrace" && password === "mail secret"
          ? done(null, { user: username })
          : done(new Error("wrong user name or password")),
      onRcptTo: ({ address }, _session, done) => {
        const code = this.refuse(address);
        done(code === undefined ? null : Object.assign(new Error(`no mailbox ${address}`), { responseCode: code }));
      },
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          const from = envelope.mailFrom ? envelope.mailFrom.address : "";
          const to = envelope.rcptTo.map(({ address }) => address);
          this.mails.push({ from, to, message: Buffer.concat(chunks).toString("utf8") });
          done(this.denies() ? Object.assign(new Error("try again"), { responseCode: 451 }) : null);
        });
      },
    });
    this.#server.on("error", () => {});
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `smtp://millrace:mail%20secret@127.0.0.1:${this.port}`;
  }

  /** Waits until this many e-mails have arrived. Throws after a minute, so that a test does not hang. */
  async wait(count: number): Promise<void> {
    for (const deadline = Date.now() + 60_000; this.mails.length < count; ) {
      if (Date.now() > deadline)
        throw new Error(`expected ${count} e-mails, but only ${this.mails.length} arrived within a minute`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  readonly stop = closedAtEnd(() => new Promise((resolve) => void this.#server.close(() => resolve())));
}
