/**
 * Computes the widths of the columns of a table on a terminal. Leaves out columns that do not fit. Columns with names
 * shrink last.
 */

/** How a column shrinks when the terminal is too narrow. */
export interface Shrinkable {
  readonly title: string;
  /**
   * `true`: the column is narrowed to its minimum width, and then left out; the rightmost column is left out first.
   * `"first"`: like `true`, but left out before all columns with `true`. `"last"`: the column is a name, which is
   * narrowed after all other columns and never left out. Undefined: the column never shrinks.
   */
  readonly shrinks?: true | "first" | "last";
  /** Minimum width of a column that shrinks, in characters; default 12. */
  readonly least?: number;
}

const gap = 2;
const leastWidth = 12;

interface Fit {
  readonly widths: number[];
  readonly excess: number;
}

/** Returns the width of each column in characters; 0 for a column that is left out. */
export function columnWidths(
  columns: readonly Shrinkable[],
  cells: readonly (readonly string[])[],
  terminal: number,
): number[] {
  const natural = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...cells.map((row) => displayWidth(row[index] ?? ""))),
  );
  const half = Math.floor(terminal / 2);
  const leaving = (kind: Shrinkable["shrinks"]) =>
    [...columns.keys()].filter((index) => columns[index]?.shrinks === kind).reverse();
  const droppable = [...leaving("first"), ...leaving(true)];
  const absent = new Set<number>();
  let fit = cut(columns, natural, terminal, half);
  for (const index of droppable) {
    if (fit.excess <= 0 || absent.size === columns.length - 1) break;
    absent.add(index);
    const left = natural.map((width, column) => (absent.has(column) ? 0 : width));
    fit = cut(columns, left, terminal, half);
  }
  return fit.excess <= 0 ? fit.widths : cut(columns, fit.widths, terminal, leastWidth).widths;
}

/**
 * Narrows columns until the table fits. Narrows the widest column first. Columns with names are narrowed only after all
 * others, down to `leastName` characters.
 */
function cut(columns: readonly Shrinkable[], natural: readonly number[], terminal: number, leastName: number): Fit {
  const widths = [...natural];
  const all = () => widths.reduce((sum, width) => sum + (width === 0 ? 0 : width + gap), -gap);
  let excess = all() - terminal;
  for (const isName of [false, true]) {
    const least = (index: number) => (isName ? leastName : (columns[index]?.least ?? leastWidth));
    const gives = (shrinks: Shrinkable["shrinks"]) => shrinks !== undefined && (shrinks === "last") === isName;
    while (excess > 0) {
      const candidates = [...columns.keys()].filter(
        (index) => gives(columns[index]?.shrinks) && (widths[index] ?? 0) > least(index),
      );
      const widest = candidates.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
      if (widest === undefined) break;
      // Narrow it to the width of the second widest column, so that from then on the two shrink together.
      const next = candidates[1] === undefined ? 0 : (widths[candidates[1]] ?? 0);
      const width = widths[widest] ?? 0;
      widths[widest] = Math.max(least(widest), Math.min(width - 1, Math.max(next, width - excess)));
      excess = all() - terminal;
    }
  }
  return { widths, excess };
}

export function fitted(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (displayWidth(kept) + displayWidth(segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Returns the number of terminal cells that a text takes. East Asian characters and emoji take two. */
export function displayWidth(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: plain ASCII needs no segmenter
  if (/^[\u0000-\u007f]*$/.test(text)) return text.length;
  const wide =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
  return [...new Intl.Segmenter().segment(text)].reduce((sum, { segment }) => sum + (wide.test(segment) ? 2 : 1), 0);
}
