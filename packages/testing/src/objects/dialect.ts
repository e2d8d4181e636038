/** What a prepared store needs to speak the API of one kind of object store. */
export interface Dialect<Config> {
  /** Number of keys in a folder. A folder is one page of the listing, with as many keys as a page of the real store. */
  readonly keysInFolder: number;
  /** Returns the configuration of a client for this store. */
  config(url: string): Config;
  /** Returns the files with the listing of a folder, by file name. */
  pages(folder: PreparedFolder): Readonly<Record<string, string>>;
  /** Returns all other files, by file name. */
  others?(folders: readonly string[], big: number): Readonly<Record<string, string>>;
  /** Returns lines of nginx configuration; `big` is the size of the object `big` and of uploads, in bytes. */
  nginx(big: number): { readonly locations: string; readonly maps: string; readonly modules?: string };
}

export interface PreparedFolder {
  /** Number of the folder, with four digits. */
  readonly number: string;
  readonly keys: readonly string[];
  /** Names of the folders after this one. */
  readonly later: readonly string[];
  /** Token with which the listing continues at the next folder; undefined in the last folder. */
  readonly next: string | undefined;
}
