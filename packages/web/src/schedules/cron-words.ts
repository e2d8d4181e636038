/** Says in words when a cron expression is due, such as "At 02:30 on weekdays". */

const macros: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
const months = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
] as const;

/** The range of a field, and the names that it accepts, beginning with its lowest value. */
interface Kind {
  readonly low: number;
  readonly high: number;
  readonly names?: readonly string[];
}

const kinds: readonly Kind[] = [
  { low: 0, high: 59 },
  { low: 0, high: 23 },
  { low: 1, high: 31 },
  { low: 1, high: 12, names: months },
  { low: 0, high: 7, names: days },
];

/** A field as the sorted list of its values. */
interface Field {
  readonly values: readonly number[];
  /** Whether the field has every value of its range. */
  readonly isAny: boolean;
}

function readNumber(text: string, { low, high, names }: Kind): number | undefined {
  const named = names?.findIndex((name) => name.slice(0, 3).toLowerCase() === text.toLowerCase()) ?? -1;
  const value = named >= 0 ? low + named : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= low && value <= high ? value : undefined;
}

/** Returns the values of one part of a field: `*`, `5`, `1-5`, each also with a step. Undefined if it is anything else. */
function readPart(text: string, kind: Kind): number[] | undefined {
  const [, first = "", last, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(text) ?? [];
  const from = first === "*" ? kind.low : readNumber(first, kind);
  const open = first === "*" || step !== undefined ? kind.high : from;
  const to = last === undefined ? open : readNumber(last, kind);
  const by = Number(step ?? 1);
  if (from === undefined || to === undefined || to < from || by < 1) return undefined;
  return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);
}

function readField(text: string, kind: Kind): Field | undefined {
  const parts = text.split(",").map((part) => readPart(part, kind));
  if (parts.some((part) => part === undefined)) return undefined;
  // Both 0 and 7 are Sunday.
  const isWeek = kind.high === 7;
  const values = new Set(parts.flatMap((part) => part ?? []).map((value) => (isWeek ? value % 7 : value)));
  const whole = isWeek ? 7 : kind.high - kind.low + 1;
  return { values: [...values].sort((a, b) => a - b), isAny: values.size === whole };
}

const both = new Intl.ListFormat("en", { type: "conjunction" });
const list = (values: readonly (string | number)[]) => both.format(values.map(String));
const two = (value: number) => String(value).padStart(2, "0");
const isRun = (values: readonly number[]) =>
  values.length > 2 && values.every((value, index) => value === (values[0] ?? 0) + index);

/** The step of a field whose values are spread evenly over its whole range, such as 15 for 0, 15, 30, 45. */
function stepOf({ values }: Field, size: number): number | undefined {
  const step = size / values.length;
  return values.length > 1 && values.every((value, index) => value === index * step) ? step : undefined;
}

function ordinal(value: number): string {
  const teen = value % 100 >= 11 && value % 100 <= 13;
  return `${value}${(teen ? undefined : { 1: "st", 2: "nd", 3: "rd" }[value % 10]) ?? "th"}`;
}

/** Most times of a day that are listed one by one. */
const mostTimes = 6;

function hoursText({ values }: Field, minute: number): string {
  const step = stepOf({ values, isAny: false }, 24);
  const at = minute === 0 ? "" : ` at minute ${minute}`;
  if (step !== undefined) return `every ${step} hours${at}`;
  if (isRun(values) && values.length > mostTimes)
    return `every hour${at} from ${two(values[0] ?? 0)}:${two(minute)} to ${two(values.at(-1) ?? 0)}:${two(minute)}`;
  return `at ${list(values.map((hour) => `${two(hour)}:${two(minute)}`))}`;
}

function minutesText(field: Field): string {
  const step = stepOf(field, 60);
  if (field.isAny) return "every minute";
  if (step !== undefined) return `every ${step} minutes`;
  if (field.values.length === 1) return `at minute ${field.values[0]} of every hour`;
  return `at minutes ${list(field.values)} of every hour`;
}

function timeText(minutes: Field, hours: Field): string {
  const [minute = 0] = minutes.values;
  const isOne = minutes.values.length === 1;
  if (hours.isAny) return isOne && minute === 0 ? "every hour" : minutesText(minutes);
  if (isOne) return hoursText(hours, minute);
  if (minutes.values.length * hours.values.length <= mostTimes)
    return `at ${list(hours.values.flatMap((hour) => minutes.values.map((value) => `${two(hour)}:${two(value)}`)))}`;
  const [first = 0, last = first] = [hours.values[0], hours.values.at(-1)];
  const often = minutesText(minutes).replace(" of every hour", "");
  if (isRun(hours.values) || hours.values.length === 1) return `${often} from ${two(first)}:00 to ${two(last)}:59`;
  return `${often} of the hours ${list(hours.values)}`;
}

function weekText({ values }: Field): string {
  if (values.join() === "1,2,3,4,5") return "weekdays";
  if (values.join() === "0,6") return "weekends";
  return list([...values.filter((day) => day > 0), ...values.filter((day) => day === 0)].map((day) => `${days[day]}s`));
}

/** The days of a month and the months together: `on the 1st of March`, `in March`, or nothing. */
function dateText(dates: Field | "last", month: Field): string {
  const named = list(month.values.map((value) => months[value - 1] ?? ""));
  const of = month.isAny ? "every month" : named;
  if (dates === "last") return `on the last day of ${of}`;
  if (dates.isAny) return month.isAny ? "" : `in ${named}`;
  const [first = 1, last = first] = [dates.values[0], dates.values.at(-1)];
  const text = isRun(dates.values) ? `${ordinal(first)} to ${ordinal(last)}` : list(dates.values.map(ordinal));
  return `on the ${text} of ${of}`;
}

function dayText(dates: Field | "last", month: Field, week: Field): string {
  const date = dateText(dates, month);
  const isEveryDate = dates !== "last" && dates.isAny;
  if (week.isAny) return date;
  const weekday = `on ${weekText(week)}`;
  // If both day fields are given, a day that matches either counts.
  if (!isEveryDate) return `${date} and ${weekday}`;
  return date === "" ? weekday : `${weekday} ${date}`;
}

/** Returns the words; undefined for an expression that has none here, such as one with `#` or a typing error. */
export function cronInWords(expression: string): string | undefined {
  const text = expression.trim().toLowerCase();
  const parts = (macros[text] ?? text).split(/\s+/);
  if (parts.length !== 5) return undefined;
  const isLast = parts[2] === "l";
  const fields = parts.map((part, index) => readField(isLast && index === 2 ? "*" : part, kinds[index] as Kind));
  const [minutes, hours, dates, month, week] = fields;
  if (!minutes || !hours || !dates || !month || !week) return undefined;
  const time = timeText(minutes, hours);
  const day = dayText(isLast ? "last" : dates, month, week);
  const isDaily = day === "" && time.startsWith("at ") && !hours.isAny;
  const words = [time, isDaily ? "every day" : day].filter(Boolean).join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
