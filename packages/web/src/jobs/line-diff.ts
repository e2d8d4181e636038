/** The difference of two texts by lines. */

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "skipped";
  readonly text: string;
}

/** Above this number of comparisons, the middle of both texts is shown as replaced. */
const most = 4_000_000;

export function diffLines(before: string, after: string): DiffLine[] {
  // The end of the last line is no line of its own.
  const isEnded = before.endsWith("\n") && after.endsWith("\n");
  const [old, now] = [before, after].map((text) => (isEnded ? text.slice(0, -1) : text).split("\n")) as [
    string[],
    string[],
  ];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const middle = changes(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return [...old.slice(0, start).map(line("same")), ...middle, ...old.slice(old.length - end).map(line("same"))];
}

const line = (kind: DiffLine["kind"]) => (text: string) => ({ kind, text });

/** The longest common lines stay; the rest was removed or added. */
function changes(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > most) return [...old.map(line("removed")), ...now.map(line("added"))];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const found: DiffLine[] = [];
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push({ kind: "same", text: old[i] ?? "" });
      i++;
      j++;
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1)))
      found.push({ kind: "removed", text: old[i++] ?? "" });
    else found.push({ kind: "added", text: now[j++] ?? "" });
  }
  return found;
}

/** Leaves out lines that are far from any change. */
export function nearChanges(lines: readonly DiffLine[], around = 3): DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== "same"),
  );
  return lines.flatMap((one, index): DiffLine[] => {
    if (isNear[index]) return [one];
    if (index > 0 && !isNear[index - 1]) return [];
    const next = isNear.indexOf(true, index);
    return [{ kind: "skipped", text: `${(next === -1 ? lines.length : next) - index} lines without changes` }];
  });
}
