/** Parses and formats durations: `90`, `30s`, `10m`, `2h`, `1d`. */
const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Parses a duration. Returns seconds; undefined if the text is not a duration. */
export function readDuration(text: string): number | undefined {
  const [, count = "", unit = "s"] = /^(\d{1,9})\s*([smhd])?$/.exec(text.trim()) ?? [];
  return count === "" ? undefined : Number(count) * units[unit as keyof typeof units];
}

/** Formats seconds in the largest unit that leaves no remainder: 600 is `10 minutes`, 90 is `90 seconds`. */
export function durationWords(seconds: number): string {
  const names = { d: "day", h: "hour", m: "minute", s: "second" } as const;
  const fits = (["d", "h", "m"] as const).find((name) => seconds > 0 && seconds % units[name] === 0) ?? "s";
  const count = seconds / units[fits];
  return `${count} ${names[fits]}${count === 1 ? "" : "s"}`;
}
