/**
 * Packed virtualenvs of the clusters, as blobs. A pack is stored once and never replaced. It can be rebuilt, so it is
 * removed when nobody has used it for a while, or when all packs together are too large.
 */
import { packName, packsFolder } from "./blob-names.ts";
import { BlobMissing, type Blobs, type OpenBlob } from "./blobs.ts";

/** Which pack: of which virtualenv, and whose jobs may use it. */
export interface PackId {
  readonly team: number;
  readonly person: number | null;
  /** The key of the virtualenv. */
  readonly environment: string;
}

/** Thrown if more was stored since the last removal than all packs together may occupy. */
export class PacksFull extends Error {}

/** A blob beside the pack, whose time is that of the last use: the time of a blob cannot be set. */
const usedEnd = ".used";
/** A use is noted at most this often, in milliseconds. */
const noteEvery = 12 * 3_600_000;
/** Uses that are remembered, so that they are not noted again. */
const mostNoted = 10_000;

interface Found {
  readonly size: number;
  readonly usedAt: number;
  readonly isPack: boolean;
}

export class Packs {
  readonly #blobs: Blobs;
  readonly #most: number;
  readonly #now: () => number;
  readonly #storing = new Set<string>();
  readonly #noted = new Map<string, number>();
  /** Bytes that were stored since the last removal. */
  #stored = 0;
  /** Bytes of packs that are being stored. */
  #arriving = 0;

  /** `most`: the bytes that all packs together may occupy. */
  constructor(blobs: Blobs, most: number, now: () => number) {
    this.#blobs = blobs;
    this.#most = most;
    this.#now = now;
  }

  /** Opens a pack, and notes that it is used; undefined if there is none. */
  async open(id: PackId): Promise<OpenBlob | undefined> {
    const name = nameOf(id);
    const opened = await this.#blobs.open(name).catch((error: unknown) => {
      if (error instanceof BlobMissing) return undefined;
      throw error;
    });
    if (opened) await this.#noteUse(name).catch(() => {});
    return opened;
  }

  /**
   * Stores a pack, unless there is one or one is being stored. Returns whether it did. Throws BlobTooLong beyond `limit`
   * bytes, and PacksFull.
   */
  async store(id: PackId, content: AsyncIterable<Uint8Array>, limit: number): Promise<boolean> {
    const name = nameOf(id);
    if (this.#storing.has(name)) return false;
    this.#storing.add(name);
    try {
      if ((await this.#blobs.size(name)) !== undefined) return false;
      return await this.#put(name, content, { limit: Math.min(limit, this.#most), owner: id.team });
    } finally {
      this.#storing.delete(name);
    }
  }

  /** Counts a pack while it arrives, because many may arrive at the same time. */
  async #put(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: { limit: number; owner: number },
  ): Promise<true> {
    let arrived = 0;
    const requireRoom = () => {
      if (this.#stored + this.#arriving >= this.#most) throw new PacksFull();
    };
    const count = ({ length }: Uint8Array) => {
      requireRoom();
      arrived += length;
      this.#arriving += length;
    };
    requireRoom();
    try {
      const { size } = await this.#blobs.put(name, noting(content, count), options);
      this.#stored += size;
      return true;
    } finally {
      this.#arriving -= arrived;
    }
  }

  /** Removes packs that were last used before a moment, and those used longest ago while all together are too large. */
  async removeOld(unusedSince: number): Promise<void> {
    this.#stored = 0;
    const newest = [...(await this.#find())].sort(([, a], [, b]) => b.usedAt - a.usedAt);
    let total = 0;
    for (const [name, { size, usedAt, isPack }] of newest) {
      total += size;
      if (isPack && usedAt >= unusedSince && total <= this.#most) continue;
      await this.#blobs.remove(name);
      await this.#blobs.remove(name + usedEnd);
    }
  }

  async #find(): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    for await (const { name, size, modifiedAt } of this.#blobs.list(packsFolder)) {
      const isUse = name.endsWith(usedEnd);
      const pack = isUse ? name.slice(0, -usedEnd.length) : name;
      const known = found.get(pack) ?? { size: 0, usedAt: 0, isPack: false };
      found.set(pack, {
        size: isUse ? known.size : size,
        usedAt: Math.max(known.usedAt, modifiedAt),
        isPack: known.isPack || !isUse,
      });
    }
    return found;
  }

  async #noteUse(name: string): Promise<void> {
    const now = this.#now();
    if (now - (this.#noted.get(name) ?? 0) < noteEvery) return;
    if (this.#noted.size >= mostNoted) this.#noted.clear();
    this.#noted.set(name, now);
    await this.#blobs.put(name + usedEnd, once());
  }
}

async function* noting(content: AsyncIterable<Uint8Array>, note: (piece: Uint8Array) => void) {
  for await (const piece of content) {
    note(piece);
    yield piece;
  }
}

const nameOf = ({ team, person, environment }: PackId) => packName(team, person, environment);

/** The content of the blob that notes a use: storages may treat empty objects differently. */
async function* once(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("used\n");
}
