/** Writes everything that a person or a program reads: tables, values, JSON, notes, progress, errors. */
import { CliError, exitCodes, messageOf } from "./errors.ts";
import { wantsColor } from "./settings.ts";
import { columnWidths, displayWidth, fitted, type Shrinkable } from "./table-layout.ts";

/** The part of a stream that this file uses. */
export interface Sink {
  write(text: string | Uint8Array): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  once(event: "drain", listener: () => void): unknown;
}

export interface Line {
  readonly text: string;
  readonly style: Style;
}

export interface Column<Row> extends Shrinkable {
  /** The complete value, for output that is not a terminal. */
  readonly full: (row: Row) => string;
  /** The value on a terminal; `full` by default. If it is null, the column is hidden on a terminal. */
  readonly short?: ((row: Row) => string) | null;
  readonly style?: (row: Row) => Style;
}

export type Style = "plain" | "dim" | "bold" | "red" | "green" | "yellow" | "cyan";
const escapes: Record<Exclude<Style, "plain">, number> = { dim: 2, bold: 1, red: 31, green: 32, yellow: 33, cyan: 36 };

export class Output {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #color: boolean;
  #quiet = false;
  #verbose = false;
  #progressShown = false;

  constructor(stdout: Sink = process.stdout, stderr: Sink = process.stderr, color = wantsColor()) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#color = color;
  }

  /** Applies `--quiet` and `--verbose`, which every command takes. */
  configure(flags: { quiet: boolean; verbose: boolean }): void {
    this.#quiet = flags.quiet;
    this.#verbose = flags.verbose;
  }

  /** Prints a result, as opposed to a note or progress. On a terminal, without control characters. */
  print(text: string): void {
    this.#say(this.#stdout.isTTY ? visible(text) : text);
  }

  #say(text: string): void {
    this.#stdout.write(`${text}\n`);
  }

  /**
   * Writes bytes unchanged. If the reader is slow, returns a promise that the caller must await before it writes more.
   */
  raw(text: string | Uint8Array, signal?: AbortSignal): Promise<void> | undefined {
    this.clearProgress();
    signal?.throwIfAborted();
    if (this.#stdout.write(text)) return undefined;
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal?.reason as Error);
      signal?.addEventListener("abort", stop, { once: true });
      this.#stdout.once("drain", () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      });
    });
  }

  json(value: unknown): void {
    this.print(JSON.stringify(value, null, 2));
  }

  /**
   * Writes a note, which is not part of the result. Set `below` if the log may have left an unfinished line on the
   * terminal: the note then starts on a new line.
   */
  note(text: string, style: Style = "plain", options: { below?: boolean } = {}): void {
    if (this.#quiet) return;
    this.clearProgress();
    const lineEnd = options.below && this.#stdout.isTTY && this.#stderr.isTTY ? "\n" : "";
    this.#stderr.write(`${lineEnd}${this.#paint(this.#stderr, visible(text), style)}\n`);
  }

  /** Shows a line of progress, only on a terminal. Each call overwrites the line of the previous call. */
  progress(text: string): void {
    if (this.#quiet || !this.showsProgress) return;
    this.#stderr.write(`\r\u001b[2K${visible(text)}`);
    this.#progressShown = true;
  }

  /** Tells whether results are written to a terminal. */
  get isTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  get showsProgress(): boolean {
    return this.#stderr.isTTY === true;
  }

  clearProgress(): void {
    if (this.#progressShown) this.#stderr.write("\r\u001b[2K");
    this.#progressShown = false;
  }

  /**
   * Prints a table. On a terminal, columns are aligned and have titles. Elsewhere, each row is a line with full values
   * separated by tabs.
   */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
    if (!this.#stdout.isTTY) {
      for (const row of rows) this.#say(columns.map(({ full }) => oneField(full(row))).join("\t"));
      return;
    }
    const wanted = columns.filter(({ short }) => short !== null);
    const texts = rows.map((row) => wanted.map(({ full, short }) => oneLine(visible((short ?? full)(row)))));
    const widths = columnWidths(wanted, texts, this.#stdout.columns || 80);
    const hasRoom = (_item: unknown, index: number) => widths[index] !== 0;
    const shown = wanted.filter(hasRoom);
    const room = widths.filter(hasRoom);
    const titles = shown.map(({ title }) => title);
    this.#say(this.#paint(this.#stdout, this.#line(titles, room), "bold"));
    for (const [index, row] of rows.entries()) {
      const styles = shown.map(({ style }) => style?.(row) ?? "plain");
      this.#say(this.#line((texts[index] ?? []).filter(hasRoom), room, styles));
    }
    const hidden = wanted.filter((_column, index) => widths[index] === 0 && texts.some((cells) => cells[index]));
    if (hidden.length > 0) this.note(`Columns that do not fit: ${hidden.map(({ title }) => title).join(", ")}`, "dim");
  }

  /**
   * Draws lines on a terminal and returns their number. Pass this number as `drawn` to the next call, which then
   * replaces these lines.
   */
  redraw(lines: readonly Line[], drawn = 0): number {
    const columns = this.#stdout.columns || 80;
    const texts = lines.map(({ text, style }) => this.#paint(this.#stdout, fitted(visible(text), columns - 1), style));
    const back = drawn === 0 ? "" : `\u001b[${drawn}A`;
    this.#stdout.write(`${back}${texts.map((text) => `\r\u001b[2K${text}\n`).join("")}\u001b[J`);
    return lines.length;
  }

  /** The height of the terminal in lines; undefined if results are not written to a terminal. */
  get rows(): number | undefined {
    return this.#stdout.isTTY ? this.#stdout.rows || 24 : undefined;
  }

  /** Prints lines, with colors on a terminal. */
  lines(lines: readonly Line[]): void {
    for (const { text, style } of lines)
      this.#say(this.#stdout.isTTY ? this.#paint(this.#stdout, visible(text), style) : text);
  }

  /** Prints names and values. A value with several lines is printed below its name. */
  fields(pairs: readonly (readonly [string, string])[]): void {
    const width = Math.max(...pairs.map(([name]) => name.length)) + 2;
    for (const [name, value] of pairs) {
      if (!this.#stdout.isTTY) this.#say(`${name}\t${oneField(value)}`);
      else if (value.includes("\n"))
        this.#say(`${this.#paint(this.#stdout, name, "dim")}\n${indented(visible(value))}`);
      else this.#say(`${this.#paint(this.#stdout, name.padEnd(width), "dim")}${visible(value)}`);
    }
  }

  /** Prints an error: what happened, why, and what to do next. Returns the exit code. */
  failure(error: unknown): number {
    this.clearProgress();
    const { message, why, next, exitCode } = explained(error);
    const say = (label: string, text: string, style: Style) => {
      const [first = "", ...rest] = visible(text).trimEnd().split("\n");
      const more = rest.map((line) => `\n       ${line}`).join("");
      this.#stderr.write(`${this.#paint(this.#stderr, label, style)} ${first}${more}\n`);
    };
    say("error:", message, "red");
    if (why) say("  why:", why, "dim");
    if (next) say(" next:", next, "cyan");
    if (this.#verbose && error instanceof Error) this.#stderr.write(`${error.stack}\n${causes(error)}`);
    return exitCode;
  }

  #line(cells: readonly string[], widths: readonly number[], styles: readonly Style[] = []): string {
    const padded = cells.map((cell, index) => {
      const text = fitted(cell, widths[index] ?? 0);
      const gap = index === cells.length - 1 ? 0 : (widths[index] ?? 0) - displayWidth(text);
      return this.#paint(this.#stdout, text, styles[index] ?? "plain") + " ".repeat(Math.max(0, gap));
    });
    return padded.join("  ").trimEnd();
  }

  #paint(sink: Sink, text: string, style: Style): string {
    return this.#color && sink.isTTY && style !== "plain" ? `\u001b[${escapes[style]}m${text}\u001b[0m` : text;
  }
}

function explained(error: unknown) {
  if (error instanceof CliError) return error;
  return { message: messageOf(error), why: undefined, next: undefined, exitCode: exitCodes.error };
}

const causes = (error: Error) => (error.cause instanceof Error ? `caused by: ${error.cause.stack}\n` : "");

/** Escapes tabs and line breaks in a value, because a table uses them as separators. */
const oneField = (value: string) => value.replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r");

/** Replaces control characters, so that names chosen by other users cannot control the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must match control characters
export const visible = (value: string) => value.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");

const oneLine = (text: string) => text.trim().replaceAll(/[\t\n]+/g, " ");

const indented = (text: string) => text.trimEnd().replace(/^/gm, "  ");
