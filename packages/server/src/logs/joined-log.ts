/** Joins logs into one log with continuous offsets. All parts except the last are complete; the last part may grow. */
export interface Part {
  size(): Promise<number>;
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** A log that may still grow. */
export interface GrowingLog extends Part {
  /** Declares the log complete: no further bytes will be added. */
  end(): void;
}

/** Returns a part with a fixed text, such as the lines between two logs. */
export function textPart(text: string): Part {
  const bytes = Buffer.from(text);
  return {
    size: async () => bytes.length,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
    close: async () => {},
  };
}

interface PlacedPart {
  readonly part: Part;
  readonly start: number;
  readonly end: number;
}

export class JoinedLog implements GrowingLog {
  readonly #parts: readonly PlacedPart[];
  readonly #last: GrowingLog | undefined;
  readonly #lastStart: number;

  private constructor(parts: readonly PlacedPart[], last: GrowingLog | undefined) {
    this.#parts = parts;
    this.#last = last;
    this.#lastStart = parts.at(-1)?.end ?? 0;
  }

  /** Joins complete parts and a last part that may grow. `last` is undefined if there is no such part yet. */
  static async of(complete: readonly Part[], last: GrowingLog | undefined): Promise<JoinedLog> {
    const parts: PlacedPart[] = [];
    let start = 0;
    for (const part of complete) {
      const end = start + (await part.size());
      parts.push({ part, start, end });
      start = end;
    }
    return new JoinedLog(parts, last);
  }

  end(): void {
    this.#last?.end();
  }

  async size(): Promise<number> {
    return this.#lastStart + ((await this.#last?.size()) ?? 0);
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let at = offset;
    let left = length;
    for (const { part, start, end } of this.#parts) {
      if (at >= end || left === 0) continue;
      const bytes = await part.read(at - start, Math.min(left, end - at));
      chunks.push(bytes);
      at += bytes.length;
      left -= bytes.length;
      if (at < end) return Buffer.concat(chunks);
    }
    if (left > 0 && this.#last) chunks.push(await this.#last.read(at - this.#lastStart, left));
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  }

  async close(): Promise<void> {
    for (const { part } of this.#parts) await part.close();
    await this.#last?.close();
  }
}
