/** A measurement, and a table of measurements. */

export interface Measurement {
  readonly what: string;
  readonly ours: string;
  readonly other: string;
  readonly ratio: number;
  /** Target, such as `>= 0.5`. */
  readonly bound: string;
  readonly holds: boolean;
}

export function compare(
  what: string,
  bound: string,
  sides: { ours: number; other: number; unit: string; otherIs: string },
): Measurement {
  const ratio = sides.ours / sides.other;
  const [operator, limit] = bound.split(" ");
  const holds = operator === ">=" ? ratio >= Number(limit) : ratio <= Number(limit);
  const shown = (value: number) => `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${sides.unit}`;
  return { what, ours: shown(sides.ours), other: `${shown(sides.other)} ${sides.otherIs}`, ratio, bound, holds };
}

/** A plain limit, if there is no baseline. */
export function limit(what: string, ours: number, most: number, unit: string): Measurement {
  const bound = `<= ${most} ${unit}`;
  return { what, ours: `${ours.toFixed(0)} ${unit}`, other: "", ratio: ours / most, bound, holds: ours <= most };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Alternates between both sides, so that a busy moment of the machine affects both. */
export async function inTurns(rounds: number, first: () => Promise<number>, second: () => Promise<number>) {
  const a: number[] = [];
  const b: number[] = [];
  for (let round = 0; round < rounds; round++) {
    a.push(await first());
    b.push(await second());
  }
  return [median(a), median(b)] as const;
}

export const timed = async (work: () => Promise<unknown>) => {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
};

/** A part of a page: a line of text, and tables whose first row is the header. */
export interface Section {
  readonly name: string;
  readonly text: string;
  readonly tables: readonly (readonly (readonly string[])[])[];
}

export function ratios(results: readonly Measurement[]): Section {
  const rows = results.map((r) => [r.holds ? "ok" : "MISSED", r.what, r.ours, r.other, r.ratio.toFixed(2), r.bound]);
  const header = ["", "measured", "Millrace", "beside", "ratio", "wanted"];
  return { name: "ratios", text: "", tables: [[header, ...rows]] };
}

export const plain = ({ text, tables }: Section) => [text, ...tables.map(aligned)].filter(Boolean).join("\n\n");

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
