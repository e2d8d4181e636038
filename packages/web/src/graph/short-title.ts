/** Cuts a long title in its middle: the beginning and the end of a dataset's name both matter. */
export function shortTitle(title: string, most: number): string {
  const letters = Array.from(title.replaceAll(/\s+/g, " "));
  if (letters.length <= most) return letters.join("");
  const end = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end).join("")}`;
}
