/** The URL at which people and jobs reach the server. */
import { writeFile } from "node:fs/promises";

export class ServerUrl {
  #url: string;

  /** `publicUrl` is the URL from the configuration; if it is empty, the address that the server listens on is used. */
  constructor(publicUrl: string) {
    this.#url = publicUrl;
  }

  /** Returns the URL without a trailing slash; empty until the server listens, unless the configuration has a URL. */
  readonly read = (): string => this.#url;

  /**
   * Records the address at which the server listens, unless the configuration has a URL. Also writes the URL to a file,
   * for commands that print links.
   */
  async listensAt(address: string, file: string): Promise<string> {
    this.#url ||= address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
    await writeFile(file, `${this.#url}\n`, { mode: 0o600 });
    return this.#url;
  }
}
