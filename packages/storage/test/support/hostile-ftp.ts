/** Our own server that speaks as much FTP as a listing needs, and sends a given text as every list. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

export interface HostileFtp {
  readonly url: string;
  /** Received commands, with their arguments. */
  readonly commands: string[];
  stop(): void;
}

const answers: Readonly<Record<string, string>> = {
  USER: "230 in",
  PWD: '257 "/"',
  DELE: "550 no such file",
  SIZE: "550 no such file",
  FEAT: "500 none",
};

export async function startHostileFtp(sendList: (data: Socket) => void): Promise<HostileFtp> {
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));

  /** The port of a listener for one connection, and that connection. */
  async function listen() {
    const listener = createServer(keep).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const coming = once(listener, "connection").then(([socket]) => {
      listener.close();
      return socket as Socket;
    });
    return { port: (listener.address() as AddressInfo).port, coming };
  }

  const server = createServer({ noDelay: true }, (control) => {
    keep(control);
    let coming: Promise<Socket> | undefined;
    const say = (line: string) => control.write(`${line}\r\n`);
    async function answer(command: string) {
      if (command === "EPSV") {
        const listener = await listen();
        coming = listener.coming;
        say(`229 here (|||${listener.port}|)`);
      } else if (command === "LIST") {
        const data = await coming;
        say("150 it comes");
        if (data) sendList(data.on("finish", () => say("226 done")));
      } else say(answers[command] ?? "250 well");
    }
    say("220 hello");
    control.on("data", (bytes) => {
      const line = bytes.toString().trim();
      commands.push(line);
      void answer(line.slice(0, 4).trim());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ftp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commands,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
