/** The API of one kind of store. */
export interface Dialect<Config> {
  /** Keys per folder, which form one page: as many as the real store puts on one. */
  readonly keysInFolder: number;
  /** Configuration for a client. */
  config(url: string): Config;
  /** Files of pages, by their names. */
  pages(folder: PreparedFolder): Readonly<Record<string, string>>;
  /** Other files, by their names. */
  others?(folders: readonly string[], big: number): Readonly<Record<string, string>>;
  /** Configuration for nginx; `big` is also the length of uploads. */
  nginx(big: number): { readonly locations: string; readonly maps: string; readonly modules?: string };
}

export interface PreparedFolder {
  /** Number of the folder, with four digits. */
  readonly number: string;
  readonly keys: readonly string[];
  /** Names of the folders after this one. */
  readonly later: readonly string[];
  /** Where the listing continues, with the next folder. */
  readonly next: string | undefined;
}
