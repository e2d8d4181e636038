/**
 * Parses a page of a listing from its bytes in one pass, because the parser determines the speed of a listing. It
 * creates strings only for values that are kept; substrings of one large text would keep the text of the whole page in
 * memory.
 */
import { Buffer } from "node:buffer";
import type { Entry } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry } from "../../entry.ts";
import { decodeText } from "../../http/xml.ts";

const opening = 0x3c;
const closing = 0x3e;
const slash = 0x2f;

interface PageContent {
  readonly entries: Entry[];
  readonly next: string | undefined;
}

export function readPage(bytes: Uint8Array): PageContent {
  const reader = new PageReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  reader.readAll();
  return { entries: reader.entries, next: reader.next };
}

class PageReader {
  readonly entries: Entry[] = [];
  next: string | undefined;
  readonly #bytes: Buffer;
  /** The entry being read. */
  #entry: Entry = blankEntry("file");

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * Reads the elements in the page. Looks at every opening tag, at any depth, because no two kinds of elements that are
   * read here have the same name.
   */
  readAll(): void {
    const bytes = this.#bytes;
    for (let at = this.#find(opening, 0); at < bytes.length; at = this.#find(opening, at + 1)) {
      if (bytes[at + 1] === slash) continue;
      const end = this.#find(closing, at);
      this.#readElement(at + 1, end);
      at = end;
    }
  }

  #find(byte: number, from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < bytes.length && bytes[at] !== byte) at += 1;
    return at;
  }

  /**
   * Reads the element whose tag lies between the two offsets. Tags are distinguished by length, then by their
   * characters.
   */
  #readElement(start: number, end: number): void {
    switch (end - start) {
      case "Blob".length:
        if (this.#is("Blob", start)) this.#begin("file");
        else if (this.#is("Name", start)) this.#entry.path = decodeText(this.#text(end));
        else if (this.#is("Etag", start)) this.#entry.etag = this.#text(end).replaceAll('"', "");
        break;
      case "VersionId".length:
        if (this.#is("VersionId", start)) this.#readVersion(end);
        break;
      case "BlobPrefix".length:
        if (this.#is("BlobPrefix", start)) this.#begin("directory");
        else if (this.#is("NextMarker", start)) this.next = decodeText(this.#text(end)) || undefined;
        break;
      case "Last-Modified".length:
        if (this.#is("Last-Modified", start)) this.#entry.last_modified = this.#date(end);
        break;
      case "Content-Length".length:
        if (this.#is("Content-Length", start)) this.#entry.size = checkedSize(this.#text(end), this.#entry.path);
        break;
      case "IsCurrentVersion".length:
        if (this.#is("IsCurrentVersion", start)) this.#entry.is_latest = this.#text(end) === "true";
        break;
      case encodedName.length:
        if (this.#is(encodedName, start)) this.#entry.path = decodeURIComponent(this.#text(end));
    }
  }

  /**
   * Reads the version id. An entry with a version id counts as an old version until the element IsCurrentVersion, which
   * comes later, says that it is the latest.
   */
  #readVersion(end: number): void {
    this.#entry.version = this.#text(end);
    this.#entry.is_latest = this.#entry.version === "";
  }

  #begin(type: Entry["type"]): void {
    this.#entry = blankEntry(type);
    this.entries.push(this.#entry);
  }

  #is(tag: string, start: number): boolean {
    for (let index = 0; index < tag.length; index += 1) {
      if (this.#bytes[start + index] !== tag.charCodeAt(index)) return false;
    }
    return true;
  }

  /** Returns the text of the element whose opening tag ends at this offset. */
  #text(end: number): string {
    return this.#bytes.toString("utf8", end + 1, this.#find(opening, end));
  }

  /** Parses a date. Dates like `Fri, 02 Jan 2026 03:04:05 GMT`, which the store sends, are parsed here, for speed. */
  #date(end: number): Date {
    const start = end + 1;
    if (this.#bytes[start + usualDate.length] !== opening) return new Date(this.#text(end));
    const month = months.indexOf(this.#bytes.toString("latin1", start + 8, start + 11)) / 3;
    const day = Date.UTC(this.#digits(start + 12, 4), month, this.#digits(start + 5, 2));
    const minutes = this.#digits(start + 17, 2) * 60 + this.#digits(start + 20, 2);
    return new Date(day + minutes * 60_000 + this.#digits(start + 23, 2) * 1000);
  }

  #digits(start: number, count: number): number {
    let value = 0;
    for (let at = start; at < start + count; at += 1) value = value * 10 + (this.#bytes[at] as number) - 0x30;
    return value;
  }
}

/** Opening tag of a blob name that the store has percent-encoded, because XML does not allow some of its characters. */
const encodedName = 'Name Encoded="true"';

const usualDate = "Fri, 02 Jan 2026 03:04:05 GMT";
const months = "JanFebMarAprMayJunJulAugSepOctNovDec";
