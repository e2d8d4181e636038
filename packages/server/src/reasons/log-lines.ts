/** Splits the end of a log into lines, removes escape sequences such as colors, and recognizes progress bars. */

/**
 * Matches terminal escape sequences. A match never spans lines; otherwise an unterminated sequence could remove a
 * traceback.
 */
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what this is about
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b\r\n]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
const controls = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Removes escape sequences and control characters; line ends stay. */
export const plainText = (text: string): string =>
  text.replace(escapes, "").replace(controls, "").replaceAll("\0", "\ufffd").replaceAll("\r\n", "\n");

/** Returns all lines, including those that a carriage return would overwrite on a terminal. */
export const linesOf = (plain: string): string[] =>
  plain
    .split("\n")
    .flatMap((line) => (line.includes("\r") ? line.split("\r").filter((part) => part.trim() !== "") : line));

/** Matches the part by which a tqdm progress bar is recognized, such as `[00:01<00:05, 3.2 rows/s]`. */
const bar = /\[\d+:\d\d(?::\d\d)?(?:<[^\][,]{1,20})?, [^\][]{1,40}(?:\/s|s\/\w)/;

/** Returns whether a line is blank or a progress bar. */
export const isSilent = (line: string) => line.trim() === "" || bar.test(line.slice(0, 1000));

/** Returns the last lines, at most `most`, as a terminal would show them, without progress bars and blank lines. */
export function lastLines(plain: string, most: number): string[] {
  const shown: string[] = [];
  const lines = plain.split("\n");
  for (let index = lines.length - 1; index >= 0 && shown.length < most; index--) {
    const line = lines[index]?.split("\r").findLast((part) => part.trim() !== "");
    if (line !== undefined && !isSilent(line)) shown.push(line.trimEnd());
  }
  return shown.reverse();
}
