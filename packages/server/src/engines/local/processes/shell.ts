/** Words for a shell. */
export const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
export const words = (...list: string[]) => list.map(quote).join(" ");
