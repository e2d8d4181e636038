/**
 * Parses a page of a listing from its bytes in one pass, because the parser determines the speed of a listing. It
 * creates strings only for values that are kept; substrings of one large text would keep the text of the whole page in
 * memory.
 */
import { Buffer } from "node:buffer";
import type { Entry } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { decodeText } from "../../http/xml.ts";

const opening = 0x3c;
const closing = 0x3e;
const slash = 0x2f;
const percent = 0x25;
const plus = 0x2b;
const ampersand = 0x26;
const letterQ = 0x71;

export interface PageContent {
  readonly entries: Entry[];
  /** Texts of the other elements of the page, by name, such as NextContinuationToken. */
  readonly members: Readonly<Record<string, string>>;
}

/** Parses a page. `name` is the name of the elements that are entries: Contents or Version. */
export function readPage(bytes: Uint8Array, name: string): PageContent {
  const reader = new PageReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), name);
  return { entries: reader.readAll(), members: reader.members };
}

/** If a page contains this element, its keys are URL-encoded. The element may come before or after the keys. */
const encodedMark = "<EncodingType>url</EncodingType>";

class PageReader {
  readonly members: Record<string, string> = {};
  readonly #bytes: Buffer;
  readonly #name: string;
  readonly #isEncoded: boolean;
  #at = 0;
  #day = { digits: 0, time: 0 };

  constructor(bytes: Buffer, name: string) {
    this.#bytes = bytes;
    this.#name = name;
    this.#isEncoded = bytes.includes(encodedMark, 0, "latin1");
  }

  readAll(): Entry[] {
    const entries: Entry[] = [];
    const folders: Entry[] = [];
    while (this.#findTag()) {
      const tag = this.#readTag();
      if (tag === this.#name) entries.push(this.#readEntry());
      else if (tag === "CommonPrefixes") folders.push(this.#readFolder());
      else if (tag.charCodeAt(0) !== slash) this.#readMember(tag);
    }
    return folders.length === 0 ? entries : entries.concat(folders);
  }

  /** Advances to the next `<`. Returns false if there is none. */
  #findTag(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < bytes.length && bytes[at] !== opening) at += 1;
    this.#at = at;
    return at < bytes.length;
  }

  /** Returns the offset of the `>` that ends the current tag, and advances past it. */
  #skipTag(): number {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    while (at < bytes.length && bytes[at] !== closing) at += 1;
    this.#at = at + 1;
    return at;
  }

  #readTag(): string {
    const start = this.#at + 1;
    return this.#bytes.toString("latin1", start, this.#skipTag());
  }

  /**
   * Stores the text of an element without children. Does nothing for an element with children, because the children are
   * read next.
   */
  #readMember(tag: string): void {
    const start = this.#at;
    if (this.#findTag() && this.#bytes[this.#at + 1] === slash) this.members[tag] = this.#text(start, this.#at);
  }

  /**
   * Reads the children of an entry. Recognises each child by the first two letters of its tag, and skips the rest of
   * the tag by its known length.
   */
  #readEntry(): Entry {
    const bytes = this.#bytes;
    const entry = blankEntry("file");
    while (this.#findTag()) {
      const tag = this.#at + 1;
      if (bytes[tag] !== slash) this.#readChild(entry, tag);
      else if (this.#skipTag() - tag - 1 === this.#name.length && bytes[tag + 1] === this.#name.charCodeAt(0)) break;
    }
    return entry;
  }

  #readChild(entry: Entry, tag: number): void {
    switch (((this.#bytes[tag] as number) << 8) | (this.#bytes[tag + 1] as number)) {
      case children.Key:
        entry.path = this.#key(tag + "Key>".length, this.#textEnd(tag, "Key"));
        break;
      case children.Size:
        entry.size = this.#size(tag + "Size>".length, this.#textEnd(tag, "Size"), entry.path);
        break;
      case children.ETag:
        entry.etag = this.#etag(tag + "ETag>".length, this.#textEnd(tag, "ETag"));
        break;
      case children.LastModified:
        entry.last_modified = this.#date(tag + "LastModified>".length, this.#textEnd(tag, "LastModified"));
        break;
      case children.VersionId:
        entry.version = withoutNull(this.#text(tag + "VersionId>".length, this.#textEnd(tag, "VersionId")));
        break;
      case children.IsLatest:
        entry.is_latest = this.#text(tag + "IsLatest>".length, this.#textEnd(tag, "IsLatest")) === "true";
        break;
      default:
        this.#skipTag();
    }
  }

  /** Returns the offset at which the text of an element ends, and advances past its closing tag. */
  #textEnd(tag: number, name: string): number {
    this.#at = tag + name.length + 1;
    this.#findTag();
    const end = this.#at;
    this.#at += name.length + "</>".length;
    return end;
  }

  #readFolder(): Entry {
    this.#findTag();
    this.#skipTag();
    const start = this.#at;
    this.#findTag();
    return directoryEntry(this.#key(start, this.#at));
  }

  #text(start: number, end: number): string {
    return decodeText(this.#bytes.toString("utf8", start, end));
  }

  /**
   * Returns a key. Decodes XML entities and then the URL encoding, because some stores use both. For example, they
   * write an apostrophe, which URL encoding leaves unchanged, as an XML entity.
   */
  #key(start: number, end: number): string {
    if (!this.#isEncoded) return this.#text(start, end);
    const text = this.#bytes.toString("latin1", start, end);
    for (let at = start; at < end; at += 1) {
      const byte = this.#bytes[at];
      if (byte === percent || byte === plus || byte === ampersand) return decodeKey(decodeText(text));
    }
    return text;
  }

  #number(start: number, end: number): number {
    let value = 0;
    for (let at = start; at < end; at += 1) value = value * 10 + (this.#bytes[at] as number) - 0x30;
    return value;
  }

  /** Parses a size. Digits are parsed here, for speed; `checkedSize` handles any other text. */
  #size(start: number, end: number, path: string): number {
    let isUsual = end - start <= usualSize;
    for (let at = start; at < end && isUsual; at += 1) isUsual = isDigit(this.#bytes[at] as number);
    return isUsual ? this.#number(start, end) : checkedSize(this.#text(start, end), path);
  }

  /** Returns the ETag without its quotes. Most stores write a quote as `&quot;`, some as `&#34;` or `"`. */
  #etag(start: number, end: number): string {
    const isQuoted = this.#bytes[start] === ampersand && this.#bytes[start + 1] === letterQ;
    return isQuoted
      ? this.#bytes.toString("latin1", start + "&quot;".length, end - "&quot;".length)
      : this.#text(start, end).replaceAll('"', "");
  }

  /** Parses a date. Dates like `2026-01-02T03:04:05.678Z`, which nearly all stores send, are parsed here, for speed. */
  #date(start: number, end: number): Date {
    if (end - start !== usualDate) return new Date(this.#text(start, end));
    const day = this.#dayOf(this.#digits(start, 4), this.#digits(start + 5, 2), this.#digits(start + 8, 2));
    const minutes = this.#digits(start + 11, 2) * 60 + this.#digits(start + 14, 2);
    return new Date(day + minutes * 60_000 + this.#digits(start + 17, 2) * 1000 + this.#digits(start + 20, 3));
  }

  /**
   * Returns the start of a day in milliseconds since 1970. The last result is cached, because most entries have the
   * same day as the entry before.
   */
  #dayOf(year: number, month: number, day: number): number {
    const digits = (year * 100 + month) * 100 + day;
    if (digits !== this.#day.digits) this.#day = { digits, time: Date.UTC(year, month - 1, day) };
    return this.#day.time;
  }

  #digits(start: number, count: number): number {
    return this.#number(start, start + count);
  }
}

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;

/** Maximum number of digits of a size that is parsed here. Numbers of this length are exact in JavaScript. */
const usualSize = 15;

const usualDate = "2026-01-02T03:04:05.678Z".length;

/** The first two letters of the name of each child element, as a big-endian 16-bit number. */
const children = {
  Key: 0x4b65,
  Size: 0x5369,
  ETag: 0x4554,
  LastModified: 0x4c61,
  VersionId: 0x5665,
  IsLatest: 0x4973,
} as const;

const withoutNull = (version: string) => (version === "null" ? "" : version);

/** Decodes URL encoding; XML entities are already decoded. */
export const decodeKey = (text: string) => decodeURIComponent(text.replaceAll("+", "%20"));
