/**
 * Whether a password is one that others would guess. Not an estimate of its strength: what everybody tries first is
 * refused, and length does the rest (NIST SP 800-63B asks for a block list and against rules on kinds of characters).
 */
import { commonPasswords, commonWords } from "./common-passwords.ts";

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

/** Why it is refused; undefined: it will do. */
export function whyGuessable(password: string, username: string): string | undefined {
  const text = password.normalize("NFC").toLowerCase();
  if (commonPasswords.has(text)) return "it is among those that are tried first";
  const words = [username.toLowerCase(), "millrace", ...commonWords].filter((word) => word.length >= 3);
  if (countChoices(text, words) >= fewestChoices) return undefined;
  return "it is made of well-known words, names, repetitions or keys in a row";
}

/** How many things somebody had to think of: a word, a run of keys, a repetition and a year are one each, like a character. */
function countChoices(text: string, words: readonly string[]): number {
  const plain = withoutDisguise(text);
  let choices = 0;
  for (let at = 0; at < text.length; choices++) {
    const lengths = [
      walkAt(text, at),
      repetitionAt(text, at),
      /^(19|20)\d\d/.test(text.slice(at)) ? 4 : 0,
      ...words.filter((word) => text.startsWith(word, at) || plain.startsWith(word, at)).map((word) => word.length),
    ];
    at += Math.max(1, ...lengths);
  }
  return choices;
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
