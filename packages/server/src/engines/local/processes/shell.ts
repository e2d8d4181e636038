/** Quotes a text as one shell word. */
export const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** Quotes texts as shell words, separated by spaces. */
export const words = (...list: string[]) => list.map(quote).join(" ");
