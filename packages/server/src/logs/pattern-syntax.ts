/** Parses regular expressions: the syntax of JavaScript without back references, lookaround and Unicode properties. */

type Range = readonly [number, number];

export type Node =
  | { readonly is: "chars"; readonly ranges: readonly Range[] }
  | { readonly is: "check"; readonly check: "start" | "end" | "boundary" | "inside" }
  | { readonly is: "sequence"; readonly parts: readonly Node[] }
  | { readonly is: "either"; readonly parts: readonly Node[] }
  | { readonly is: "repeat"; readonly part: Node; readonly least: number; readonly most: number | undefined };

const last = 65_535;
const digits: readonly Range[] = [[48, 57]];
const words: readonly Range[] = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];
const spaces: readonly Range[] = [
  [9, 13],
  [32, 32],
  [160, 160],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const sets: Readonly<Record<string, readonly Range[]>> = {
  d: digits,
  w: words,
  s: spaces,
  D: inverse(digits),
  W: inverse(words),
  S: inverse(spaces),
};
const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, "0": 0 };

/** Throws a SyntaxError if the pattern is not valid or uses something that is not supported. */
export function parsePattern(pattern: string, ignoreCase: boolean): Node {
  const parser = new Parser(pattern, ignoreCase);
  return parser.whole();
}

class Parser {
  readonly #text: string;
  readonly #ignoreCase: boolean;
  #at = 0;
  #depth = 0;

  constructor(text: string, ignoreCase: boolean) {
    this.#text = text;
    this.#ignoreCase = ignoreCase;
  }

  whole(): Node {
    const node = this.#either();
    if (this.#at < this.#text.length) throw this.#error("there is a ) without a (");
    return node;
  }

  #error(what: string): SyntaxError {
    return new SyntaxError(`${what} (at character ${this.#at + 1})`);
  }

  #eat(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #either(): Node {
    if (++this.#depth > 50) throw this.#error("there are too many groups within groups");
    const parts = [this.#sequence()];
    while (this.#eat("|")) parts.push(this.#sequence());
    this.#depth--;
    return parts.length === 1 ? (parts[0] as Node) : { is: "either", parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#text.length && !"|)".includes(this.#text.charAt(this.#at))) parts.push(this.#repeated());
    return { is: "sequence", parts };
  }

  #repeated(): Node {
    const part = this.#atom();
    const counts = this.#counts();
    if (!counts) return part;
    // Whether a repetition is lazy does not matter for whether there is a match.
    this.#eat("?");
    if (this.#counts()) throw this.#error("there is nothing to repeat");
    return { is: "repeat", part, ...counts };
  }

  #counts(): { least: number; most: number | undefined } | undefined {
    if (this.#eat("*")) return { least: 0, most: undefined };
    if (this.#eat("+")) return { least: 1, most: undefined };
    if (this.#eat("?")) return { least: 0, most: 1 };
    const [all, from = "", comma, to] =
      /^\{(\d{1,4})(,(\d{1,4})?)?\}/.exec(this.#text.slice(this.#at, this.#at + 12)) ?? [];
    if (all === undefined) return undefined;
    this.#at += all.length;
    const least = Number(from);
    const most = comma === undefined ? least : to === undefined ? undefined : Number(to);
    if (most !== undefined && most < least) throw this.#error("the numbers of a repetition are out of order");
    return { least, most };
  }

  #atom(): Node {
    const char = this.#text.charAt(this.#at);
    if ("*+?".includes(char)) throw this.#error("there is nothing to repeat");
    this.#at++;
    if (char === "(") return this.#group();
    if (char === "[") return this.#chars(this.#class());
    if (char === ".") return { is: "chars", ranges: inverse([[10, 10]]) };
    if (char === "^") return { is: "check", check: "start" };
    if (char === "$") return { is: "check", check: "end" };
    if (char === "\\") return this.#escape();
    return this.#chars([[char.charCodeAt(0), char.charCodeAt(0)]]);
  }

  #group(): Node {
    if (this.#text.startsWith("?", this.#at) && !this.#eat("?:")) {
      const [name] = /^\?<[A-Za-z_]\w*>/.exec(this.#text.slice(this.#at)) ?? [];
      if (name === undefined) throw this.#error("lookaround and flags in groups are not supported");
      this.#at += name.length;
    }
    const node = this.#either();
    if (!this.#eat(")")) throw this.#error("a ( has no )");
    return node;
  }

  #escape(): Node {
    if (this.#eat("b")) return { is: "check", check: "boundary" };
    if (this.#eat("B")) return { is: "check", check: "inside" };
    return this.#chars(this.#escaped());
  }

  #escaped(): readonly Range[] {
    const char = this.#text.charAt(this.#at++);
    if (char === "") throw this.#error("the pattern ends with a \\");
    const set = sets[char];
    if (set) return set;
    if (char === "x" || char === "u") return one(this.#hex(char === "x" ? 2 : 4));
    const control = controls[char];
    if (control !== undefined) return one(control);
    if (/[a-zA-Z1-9]/.test(char)) throw this.#error(`\\${char} is not supported`);
    return one(char.charCodeAt(0));
  }

  #hex(length: number): number {
    const text = this.#text.slice(this.#at, this.#at + length);
    if (text.length < length || !/^[0-9a-f]+$/i.test(text)) throw this.#error("a hexadecimal number is incomplete");
    this.#at += length;
    return Number.parseInt(text, 16);
  }

  #class(): readonly Range[] {
    const isNegated = this.#eat("^");
    const ranges: Range[] = [];
    while (!this.#eat("]")) {
      const from = this.#member();
      const isRange = this.#text.charAt(this.#at) === "-" && !this.#text.startsWith("-]", this.#at);
      if (!isRange) {
        ranges.push(...from);
        continue;
      }
      this.#at++;
      ranges.push(this.#between(from, this.#member()));
    }
    return isNegated ? inverse(this.#folded(ranges)) : ranges;
  }

  #between(from: readonly Range[], to: readonly Range[]): Range {
    const [[least, same] = [0, 1]] = from;
    const [[most, alike] = [0, 1]] = to;
    if (from.length !== 1 || to.length !== 1 || least !== same || most !== alike || least > most)
      throw this.#error("a range of characters is out of order");
    return [least, most];
  }

  #member(): readonly Range[] {
    if (this.#at >= this.#text.length) throw this.#error("a [ has no ]");
    if (this.#eat("\\")) return this.#eat("b") ? one(8) : this.#escaped();
    return one(this.#text.charCodeAt(this.#at++));
  }

  #chars(ranges: readonly Range[]): Node {
    return { is: "chars", ranges: merged(this.#folded(ranges)) };
  }

  /** Adds the other case of each letter: of ranges only the Latin letters, of single characters any. */
  #folded(ranges: readonly Range[]): readonly Range[] {
    if (!this.#ignoreCase) return ranges;
    return ranges.flatMap(([from, to]) => {
      const cases: Range[] = [[from, to]];
      if (from === to) {
        const char = String.fromCharCode(from);
        for (const cased of [char.toLowerCase(), char.toUpperCase()]) {
          if (cased.length === 1) cases.push([cased.charCodeAt(0), cased.charCodeAt(0)]);
        }
        return cases;
      }
      const shifted = (low: number, high: number, by: number) => {
        const [begin, end] = [Math.max(from, low), Math.min(to, high)];
        if (begin <= end) cases.push([begin + by, end + by]);
      };
      shifted(65, 90, 32);
      shifted(97, 122, -32);
      return cases;
    });
  }
}

/** Returns the same characters in as few ranges as possible. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const found: [number, number][] = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const before = found.at(-1);
    if (before && from <= before[1] + 1) before[1] = Math.max(before[1], to);
    else found.push([from, to]);
  }
  return found;
}

const one = (code: number): readonly Range[] => [[code, code]];

/** Returns the ranges of all code units that are in none of these. */
function inverse(ranges: readonly Range[]): readonly Range[] {
  const found: Range[] = [];
  let next = 0;
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    if (from > next) found.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= last) found.push([next, last]);
  return found;
}
