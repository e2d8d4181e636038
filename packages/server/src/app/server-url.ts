/** The URL at which people and jobs reach the server. */
import { writeFile } from "node:fs/promises";

export class ServerUrl {
  #url: string;

  /** The operator's URL, if the configuration has one, wins over the address that the server listens on. */
  constructor(publicUrl: string) {
    this.#url = publicUrl;
  }

  /** Without a slash at the end. Empty until the server listens, unless the configuration has a URL. */
  readonly read = (): string => this.#url;

  /** Called when the server listens. Leaves the URL in a file, for commands that print links. */
  async listensAt(address: string, file: string): Promise<string> {
    this.#url ||= address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
    await writeFile(file, `${this.#url}\n`, { mode: 0o600 });
    return this.#url;
  }
}
