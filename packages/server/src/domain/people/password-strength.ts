/**
 * Whether a password is one that others would guess. Not an estimate of its strength: what everybody tries first is
 * refused, and length does the rest (NIST SP 800-63B asks for a block list and against rules on kinds of characters).
 */
import { commonPasswords, commonWords } from "./common-passwords.ts";
import { ordinaryWords } from "./ordinary-words.ts";

/** Ways along a keyboard, and along the alphabet; each is walked in both directions. */
const walks = [
  "01234567890",
  "abcdefghijklmnopqrstuvwxyz",
  "qwertyuiop[]",
  "qwertzuiop",
  "azertyuiop",
  "asdfghjkl;'",
  "zxcvbnm,./",
  "!@#$%^&*()",
  "1q2w3e4r5t6y7u8i9o0p",
  "q1w2e3r4t5y6u7i8o9p0",
  "a1b2c3d4e5f6g7h8",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
  "qazwsxedcrfvtgbyhnujm",
  "zaq1xsw2cde3vfr4",
  "zaqwsxcderfv",
  "1029384756",
  "13579",
  "24680",
  "147258369",
].flatMap((walk) => [walk, [...walk].reverse().join("")]);

const fewestChoices = 6;
const fewestCharacters = 5;
/** Characters that are looked at: what is hard to guess is so by then. */
const longest = 128;

/** Why it is refused; undefined: it will do. `about`: what others know of its owner, such as names and addresses. */
export function whyGuessable(password: string, about: readonly string[]): string | undefined {
  const text = password.normalize("NFC").toLowerCase().slice(0, longest);
  if (commonPasswords.has(text)) return "it is among those that are tried first";
  const known = new Set(["millrace", ...about.flatMap(namesIn), ...commonWords].filter((word) => word.length >= 3));
  if (new Set(text).size >= fewestCharacters && countChoices(text, known) >= fewestChoices) return undefined;
  return "it is made of well-known words, names, dates, repetitions or keys in a row";
}

/** Of `Ada.Byron@example.com` the whole and its parts. */
const namesIn = (text: string) => [text.toLowerCase(), ...text.toLowerCase().split(/[^\p{L}\p{N}]+/u)];

/**
 * How many things somebody had to think of, at least: a well-known word, a run of keys, a repetition and a date are one
 * each, like a character; an ordinary word is two, so that three of them will do.
 */
function countChoices(text: string, known: ReadonlySet<string>): number {
  const plain = withoutDisguise(text);
  /** From each character on. */
  const fewest = new Array<number>(text.length + 1).fill(0);
  for (let at = text.length - 1; at >= 0; at--) {
    const from = (length: number, choices: number) => choices + (fewest[at + length] ?? 0);
    const one = [walkAt(text, at), repetitionAt(text, at), runAt(text, at), dateAt(text, at)];
    fewest[at] = Math.min(
      ...[1, ...one, ...wordsAt(text, at, known), ...wordsAt(plain, at, known)].map((length) => from(length || 1, 1)),
      ...wordsAt(text, at, ordinaryWords).map((length) => from(length, 2)),
    );
  }
  return fewest[0] ?? 0;
}

/** Lengths of the words that begin here. */
function wordsAt(text: string, at: number, words: ReadonlySet<string>): number[] {
  const lengths: number[] = [];
  for (let length = 3; at + length <= text.length; length++)
    if (words.has(text.slice(at, at + length))) lengths.push(length);
  return lengths;
}

/** Characters from here on that are all the same, from two on. */
function runAt(text: string, at: number): number {
  let length = 1;
  while (text[at + length] === text[at]) length++;
  return length > 1 ? length : 0;
}

const [day, month, century] = ["(?:0?[1-9]|[12]\\d|3[01])", "(?:0?[1-9]|1[0-2])", "(?:19|20)\\d\\d"];
/** With the same mark between their parts, or none; a year of two digits needs one. */
const dates = [
  `${century}([-./ ]?)${month}\\1${day}`,
  `${day}([-./ ]?)${month}\\1${century}`,
  `${month}([-./ ]?)${day}\\1${century}`,
  `${day}([-./ ])${month}\\1\\d\\d`,
  `${month}([-./ ])${day}\\1\\d\\d`,
  century,
].map((pattern) => new RegExp(pattern, "y"));

/** Characters from here on that are a date or a year. */
function dateAt(text: string, at: number): number {
  const lengths = dates.map((date) => {
    date.lastIndex = at;
    return date.exec(text)?.[0].length ?? 0;
  });
  return Math.max(...lengths);
}

/** Characters from here on that lie in a row. */
function walkAt(text: string, at: number): number {
  let length = 3;
  while (at + length <= text.length && walks.some((walk) => walk.includes(text.slice(at, at + length)))) length++;
  return length > 3 ? length - 1 : 0;
}

/** Characters from here on that repeat those just before, in the same order, as often as they do. */
function repetitionAt(text: string, at: number): number {
  let longest = 0;
  for (let unit = 1; unit <= at; unit++) {
    let length = 0;
    while (at + length < text.length && text[at + length] === text[at + length - unit]) length++;
    if (length >= Math.max(unit, 2)) longest = Math.max(longest, length);
  }
  return longest;
}

const disguises: Readonly<Record<string, string>> = { "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t" };
const withoutDisguise = (text: string) =>
  [...text.replaceAll("@", "a").replaceAll("$", "s").replaceAll("!", "i")]
    .map((character) => disguises[character] ?? character)
    .join("");
