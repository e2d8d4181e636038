/**
 * Rejects passwords that are easy to guess. It does not estimate strength: a block list rejects what attackers try
 * first, and the minimum length does the rest. NIST SP 800-63B recommends a block list, and advises against rules on
 * character classes.
 */
import { commonPasswords, commonWords } from "./common-passwords.ts";
import { ordinaryWords } from "./ordinary-words.ts";

/** Sequences of neighbouring keys, letters and digits, in both directions. */
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

/** Minimum number of independent choices in a password; see `countChoices`. */
const fewestChoices = 6;
/** Minimum number of different characters in a password. */
const fewestCharacters = 5;
/** Only this many characters of a password are examined, because more characters cannot make it easier to guess. */
const longest = 128;

/**
 * Returns why a password is too easy to guess; undefined if it is not. `about` has the owner's names and addresses,
 * which others may know.
 */
export function whyGuessable(password: string, about: readonly string[]): string | undefined {
  const text = password.normalize("NFC").toLowerCase().slice(0, longest);
  if (commonPasswords.has(text)) return "it is one of the most common passwords";
  const known = new Set(["millrace", ...about.flatMap(namesIn), ...commonWords].filter((word) => word.length >= 3));
  if (new Set(text).size >= fewestCharacters && countChoices(text, known) >= fewestChoices) return undefined;
  return "it consists of well-known words, names, dates, repetitions or neighbouring keys";
}

/** Returns a text and its words, in lower case: for `Ada.Byron@example.com` also ada, byron, example and com. */
const namesIn = (text: string) => [text.toLowerCase(), ...text.toLowerCase().split(/[^\p{L}\p{N}]+/u)];

/**
 * Returns the smallest number of independent choices that produce the text. A common word, a run of keys, a repetition,
 * a date and any other single character count as one choice each. An ordinary word counts as two, so that three
 * ordinary words are enough.
 */
function countChoices(text: string, known: ReadonlySet<string>): number {
  const plain = withoutDisguise(text);
  /** For each index, the minimum number of choices in the text from that index on. */
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

/** Returns the lengths of all words in the list that begin at this index. */
function wordsAt(text: string, at: number, words: ReadonlySet<string>): number[] {
  const lengths: number[] = [];
  for (let length = 3; at + length <= text.length; length++)
    if (words.has(text.slice(at, at + length))) lengths.push(length);
  return lengths;
}

/** Returns the length of the run of equal characters that begins at this index; 0 if the next character differs. */
function runAt(text: string, at: number): number {
  let length = 1;
  while (text[at + length] === text[at]) length++;
  return length > 1 ? length : 0;
}

const [day, month, century] = ["(?:0?[1-9]|[12]\\d|3[01])", "(?:0?[1-9]|1[0-2])", "(?:19|20)\\d\\d"];
/** Patterns of dates, with one separator throughout or with none. Dates with a two-digit year need a separator. */
const dates = [
  `${century}([-./ ]?)${month}\\1${day}`,
  `${day}([-./ ]?)${month}\\1${century}`,
  `${month}([-./ ]?)${day}\\1${century}`,
  `${day}([-./ ])${month}\\1\\d\\d`,
  `${month}([-./ ])${day}\\1\\d\\d`,
  century,
].map((pattern) => new RegExp(pattern, "y"));

/** Returns the length of the date or year that begins at this index; 0 if there is none. */
function dateAt(text: string, at: number): number {
  const lengths = dates.map((date) => {
    date.lastIndex = at;
    return date.exec(text)?.[0].length ?? 0;
  });
  return Math.max(...lengths);
}

/** Returns the length of the key sequence that begins at this index; 0 if it is shorter than three characters. */
function walkAt(text: string, at: number): number {
  let length = 3;
  while (at + length <= text.length && walks.some((walk) => walk.includes(text.slice(at, at + length)))) length++;
  return length > 3 ? length - 1 : 0;
}

/**
 * Returns the length of the text from this index on that repeats the characters directly before the index, once or
 * several times. Returns 0 if nothing is repeated.
 */
function repetitionAt(text: string, at: number): number {
  let longest = 0;
  for (let unit = 1; unit <= at; unit++) {
    let length = 0;
    while (at + length < text.length && text[at + length] === text[at + length - unit]) length++;
    if (length >= Math.max(unit, 2)) longest = Math.max(longest, length);
  }
  return longest;
}

/** Digits that people write instead of letters, each with the letter that it replaces. */
const disguises: Readonly<Record<string, string>> = { "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t" };
const withoutDisguise = (text: string) =>
  [...text.replaceAll("@", "a").replaceAll("$", "s").replaceAll("!", "i")]
    .map((character) => disguises[character] ?? character)
    .join("");
