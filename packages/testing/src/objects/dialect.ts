/** How one kind of store speaks. */
export interface Dialect<Config> {
  /** Keys of a folder, which are a page: as many as the real store puts on one. */
  readonly keysInFolder: number;
  /** What a client is configured with. */
  config(url: string): Config;
  /** Files of pages, by their names. */
  pages(folder: PreparedFolder): Readonly<Record<string, string>>;
  /** Other files, by their names. */
  others?(folders: readonly string[], big: number): Readonly<Record<string, string>>;
  /** For nginx, as it takes them; `big` is the length of what is uploaded, too. */
  nginx(big: number): { readonly locations: string; readonly maps: string; readonly modules?: string };
}

export interface PreparedFolder {
  /** Four digits. */
  readonly number: string;
  readonly keys: readonly string[];
  /** The folders after it. */
  readonly later: readonly string[];
  /** Where the listing goes on, with the next folder. */
  readonly next: string | undefined;
}
