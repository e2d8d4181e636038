/**
 * The lines of a log that the page has read: a few pages around what is shown, whatever the size of the log. The server
 * counts the lines; here they are only addressed by number, so that none is lost or repeated when the connection drops.
 */
import type { LogLines as Answer, LogLine } from "@millrace/contract";

export interface ShownLine extends LogLine {
  /** When this page saw the line appear, in milliseconds; undefined if the line was there before. */
  readonly seen?: number;
}

/** Reads lines of the log: from a number on (counted from 1), or the last ones. */
export type ReadLines = (first: number | undefined, limit: number) => Promise<Answer>;

const pageLines = 256;
const mostPages = 16;
/** Characters of text that are kept beside the pages that are shown. */
const mostText = 4_000_000;
const pauseMs = 1000;

interface Page {
  readonly lines: (ShownLine | undefined)[];
  text: number;
}

export class LogLines {
  /** Number of lines; undefined until they are counted. */
  total: number | undefined;
  size = 0;
  counted = 0;
  complete = false;
  error: unknown;
  /** The last lines, while the lines before them are being counted. */
  tail: readonly ShownLine[] = [];
  /** Changes with every change. */
  version = 0;
  readonly #read: ReadLines;
  readonly #pages = new Map<number, Page>();
  readonly #listeners = new Set<() => void>();
  readonly #loading = new Set<number>();
  #wanted: readonly [number, number] = [0, 0];
  #growing: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(read: ReadLines) {
    this.#read = read;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  close(): void {
    this.#closed = true;
  }

  /** The number of lines that can be shown now. */
  get shown(): number {
    return this.total ?? this.tail.length;
  }

  /** The line at this place, counted from 0; undefined until it is read. */
  at(line: number): ShownLine | undefined {
    if (this.total === undefined) return this.tail[line];
    return this.#pages.get(Math.floor(line / pageLines))?.lines[line % pageLines];
  }

  /** Says which lines are shown, so that they are read. */
  want(from: number, to: number): void {
    this.#wanted = [from, to];
    this.#load();
  }

  /** Reads what the log has gained. Calls while this is under way are joined into one more. */
  grow(): Promise<void> {
    this.#again = true;
    this.#growing ??= this.#growAll().finally(() => {
      this.#growing = undefined;
    });
    return this.#growing;
  }

  async #growAll(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      await this.#persist(() => (this.total === undefined ? this.#open() : this.#extend()));
    }
  }

  /** Repeats a read while the server cannot be reached. */
  async #persist(read: () => Promise<void>): Promise<void> {
    while (!this.#closed) {
      try {
        await read();
        this.error = undefined;
        return;
      } catch (error) {
        this.error = error;
        this.#tell();
        if (!mayPass(error)) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  /** Shows the end of the log at once, and counts its lines then. */
  async #open(): Promise<void> {
    let answer = await this.#read(undefined, pageLines);
    if (answer.first === null) {
      this.tail = answer.lines;
      this.#take(answer);
      do answer = this.#take(await this.#read(1, 0));
      while (answer.total === null && !this.#closed);
      answer = await this.#read(undefined, pageLines);
    }
    this.#put(answer, undefined);
    this.#take(answer);
  }

  /** Reads from the last known line on, which may have been unfinished. */
  async #extend(): Promise<void> {
    const before = this.total ?? 0;
    const first = Math.max(1, before);
    const answer = await this.#read(first, pageLines);
    // The job truncated its log.
    if (answer.total !== null && answer.total < before) this.#pages.clear();
    this.#put(answer, Date.now());
    this.#take(answer);
    if (answer.total === null) this.#again = true;
  }

  #take(answer: Answer): Answer {
    this.size = answer.size;
    this.counted = answer.counted;
    this.complete = answer.complete;
    if (answer.total !== null && answer.first !== null) this.total = answer.total;
    this.#tell();
    return answer;
  }

  #put({ first, lines }: Answer, seen: number | undefined): void {
    if (first === null) return;
    for (const [index, line] of lines.entries()) {
      const at = first - 1 + index;
      const page = this.#page(Math.floor(at / pageLines));
      const before = page.lines[at % pageLines];
      page.text += line.text.length - (before?.text.length ?? 0);
      const when = before?.text === line.text ? before.seen : seen;
      page.lines[at % pageLines] = when === undefined ? line : { ...line, seen: when };
    }
    this.#forget();
  }

  #page(number: number): Page {
    const page = this.#pages.get(number) ?? {
      lines: new Array<ShownLine | undefined>(pageLines).fill(undefined),
      text: 0,
    };
    this.#pages.delete(number);
    this.#pages.set(number, page);
    return page;
  }

  /** Drops the pages that were not used for the longest time, except those that are shown. */
  #forget(): void {
    const [from, to] = this.#wanted;
    let text = [...this.#pages.values()].reduce((sum, page) => sum + page.text, 0);
    for (const [number, page] of this.#pages) {
      if (this.#pages.size <= mostPages && text <= mostText) return;
      const isShown = (number + 1) * pageLines > from && number * pageLines < to;
      if (isShown || number === this.#lastPage()) continue;
      this.#pages.delete(number);
      text -= page.text;
    }
  }

  #lastPage(): number {
    return Math.floor(Math.max(0, (this.total ?? 1) - 1) / pageLines);
  }

  /** Reads the first wanted line that is missing, and what follows it. */
  #load(): void {
    const total = this.total;
    if (total === undefined || this.#closed) return;
    const [from, to] = this.#wanted;
    for (let line = Math.max(0, from); line < Math.min(to, total); line++) {
      if (this.at(line) !== undefined) continue;
      const number = Math.floor(line / pageLines);
      if (!this.#loading.has(number)) void this.#loadPage(number, line);
      line = (number + 1) * pageLines - 1;
    }
  }

  async #loadPage(number: number, missing: number): Promise<void> {
    this.#loading.add(number);
    // A whole page, unless its first lines are known: long lines come in several answers.
    const known = this.#pages.get(number)?.lines.indexOf(undefined) ?? 0;
    const first = known > 0 ? Math.min(missing, number * pageLines + known) : number * pageLines;
    await this.#persist(async () => {
      const answer = await this.#read(first + 1, (number + 1) * pageLines - first);
      this.#put(answer, undefined);
      // The job truncated its log: what is missing does not exist any more.
      if (answer.total !== null && answer.total < (this.total ?? 0)) this.total = answer.total;
    });
    this.#loading.delete(number);
    this.#tell();
    if (this.error === undefined) this.#load();
  }

  #tell(): void {
    this.version++;
    for (const listener of this.#listeners) listener();
  }
}

/** Errors of the connection pass; answers such as "not found" do not. */
const mayPass = (error: unknown) => !(error instanceof Error && "status" in error && Number(error.status) < 500);
