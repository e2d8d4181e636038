/** The files of the built web UI: in the packed server beside the program, in the repository in the web package. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const folders = [join(import.meta.dirname, "web"), join(import.meta.dirname, "../../../../web/dist")];

/**
 * An asset, in each encoding that the build has written. It is kept in memory (all together have about two megabytes),
 * because the page names its assets: those of a new build on the disk would not fit to it.
 */
export interface WebFile {
  readonly type: string;
  /** Contents by content encoding; `identity` is the file itself. */
  readonly encodings: ReadonlyMap<string, Buffer>;
}

export interface WebFiles {
  /** The page of the app; undefined if the web UI was not built. */
  readonly page: string | undefined;
  /** The assets by name. Only these names are served, so no path from outside reaches the disk. */
  readonly assets: ReadonlyMap<string, WebFile>;
}

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
};

/** Compressed copies that the build writes beside each asset, by the ending of their names. */
const compressed: Readonly<Record<string, string>> = { br: "br", gz: "gzip" };

export async function findWebFiles(places: readonly string[] = folders): Promise<WebFiles> {
  for (const folder of places) {
    const page = await readFile(join(folder, "index.html"), "utf8").catch(() => undefined);
    if (page !== undefined) return { page, assets: await readAssets(join(folder, "assets")) };
  }
  return { page: undefined, assets: new Map() };
}

async function readAssets(folder: string): Promise<Map<string, WebFile>> {
  const assets = new Map<string, WebFile>();
  const names = new Set(await readdir(folder));
  for (const name of names) {
    const type = types[name.split(".").at(-1) ?? ""];
    if (type === undefined) continue;
    const encodings = new Map([["identity", await readFile(join(folder, name))]]);
    for (const [ending, encoding] of Object.entries(compressed))
      if (names.has(`${name}.${ending}`)) encodings.set(encoding, await readFile(join(folder, `${name}.${ending}`)));
    assets.set(name, { type, encodings });
  }
  return assets;
}
