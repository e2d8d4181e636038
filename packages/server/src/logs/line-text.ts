/** The text of a line as a terminal would show it. */
const lf = 10;
const cr = 13;

/** Returns the text without its line end. Of a text that was written again after CR, only the last version remains. */
export function lineText(bytes: Buffer): string {
  let end = bytes.length;
  if (end > 0 && bytes[end - 1] === lf) end--;
  while (end > 0 && bytes[end - 1] === cr) end--;
  const start = end === 0 ? 0 : bytes.lastIndexOf(cr, end - 1) + 1;
  return bytes.toString("utf8", start, end);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])/g;

/** Removes colours and other escape sequences of terminals. */
export const plainText = (text: string) => (text.includes("\x1b") ? text.replace(escapes, "") : text);
