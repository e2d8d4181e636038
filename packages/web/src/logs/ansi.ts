/** Colours of terminals: turns the text of a line into spans. The result is text and class names, never markup. */

export interface Span {
  readonly text: string;
  /** Class names: `fg-1` to `fg-7`, `bright`, `bold`, `dim`, `italic`, `under`, `strike`, `inverse`. */
  readonly className: string;
  /** A colour outside of the sixteen, as CSS. */
  readonly color?: string;
}

interface Looks {
  foreground: string;
  color: string | undefined;
  readonly styles: Set<string>;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const sequence = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: other control characters are not shown
const invisible = /[\x00-\x08\x0b-\x1f\x7f]/g;

export function spansOf(text: string): Span[] {
  if (!text.includes("\x1b")) return [{ text: text.replace(invisible, ""), className: "" }];
  const looks: Looks = { foreground: "", color: undefined, styles: new Set() };
  const spans: Span[] = [];
  const add = (part: string) => {
    const shown = part.replace(invisible, "");
    if (shown === "") return;
    const className = [looks.foreground, ...looks.styles].filter(Boolean).join(" ");
    spans.push({ text: shown, className, ...(looks.color === undefined ? {} : { color: looks.color }) });
  };
  let at = 0;
  for (const match of text.matchAll(sequence)) {
    add(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === "m") change(looks, match[1] ?? "");
  }
  add(text.slice(at));
  return spans;
}

/** The text without colours and other control characters. */
export const plainOf = (text: string) =>
  spansOf(text)
    .map((span) => span.text)
    .join("");

const styles: Readonly<Record<number, string>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "under",
  7: "inverse",
  9: "strike",
};
const ends: Readonly<Record<number, readonly string[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["under"],
  27: ["inverse"],
  29: ["strike"],
};

function change(looks: Looks, parameters: string): void {
  const codes = parameters.split(/[;:]/).map(Number);
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    const style = styles[code];
    if (code === 38 || code === 48) {
      const [color, used] = wideColor(codes, index + 1);
      if (code === 38) Object.assign(looks, { color, foreground: "" });
      index += used;
    } else if (style) looks.styles.add(style);
    else if (code === 0) reset(looks);
    else if (code === 39) Object.assign(looks, { color: undefined, foreground: "" });
    else if (code >= 30 && code <= 37) Object.assign(looks, { color: undefined, foreground: `fg-${code - 30}` });
    else if (code >= 90 && code <= 97) Object.assign(looks, { color: undefined, foreground: `fg-${code - 90} bright` });
    else for (const end of ends[code] ?? []) looks.styles.delete(end);
  }
}

function reset(looks: Looks): void {
  looks.foreground = "";
  looks.color = undefined;
  looks.styles.clear();
}

/** Reads `5;N` or `2;R;G;B`. Returns the colour, and how many numbers it took. */
function wideColor(codes: readonly number[], at: number): [string | undefined, number] {
  const byte = (index: number) => Math.max(0, Math.min(255, codes[index] ?? 0)) || 0;
  if (codes[at] === 2) return [`rgb(${byte(at + 1)} ${byte(at + 2)} ${byte(at + 3)})`, 4];
  if (codes[at] === 5) return [indexed(byte(at + 1)), 2];
  return [undefined, 1];
}

const sixteen =
  "#4d5563 #d0453a #2f9e5c #b98200 #3d7edb #a855c7 #1f9bb0 #8b94a3 #6b7686 #f2705f #46b877 #d39e1a #5d9df0 #c77fe0 #3fb8cc #b3bcc9".split(
    " ",
  );

function indexed(index: number): string {
  if (index < 16) return sixteen[index] ?? "inherit";
  if (index >= 232) return gray(8 + (index - 232) * 10);
  const steps = [0, 95, 135, 175, 215, 255];
  const cube = index - 16;
  return `rgb(${steps[Math.floor(cube / 36)]} ${steps[Math.floor(cube / 6) % 6]} ${steps[cube % 6]})`;
}

const gray = (level: number) => `rgb(${level} ${level} ${level})`;
